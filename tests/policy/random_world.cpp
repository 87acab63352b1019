#include "tests/policy/random_world.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

namespace muster::testing {

using cluster::GpuSharing;
using cluster::NodeIndex;
using cluster::TaintEffect;
using policy::Demand;

int Rounds(int usual) {
  const char* steps = std::getenv("MUSTER_PROPERTY_STEPS");
  if (steps == nullptr) return usual;
  const int64_t wanted = std::strtoll(steps, nullptr, 10);
  return static_cast<int>(std::clamp<int64_t>(wanted * usual / 1000, 1, 1'000'000));
}

uint64_t SeedOfRun() { return Catch::rngSeed(); }

cluster::Node RandomNode(Dice& dice, const std::string& name) {
  NodeBuilder node = MakeNode(name);
  node.MilliCpu(dice.Roll(1, 16) * 1000).MemoryGiB(dice.Roll(4, 64)).PodSlots(dice.Roll(2, 12));
  const int gpus = dice.Pick<int>({0, 0, 1, 2, 4, 4});
  if (gpus > 0) {
    node.Gpus(gpus, "model", dice.Pick<int>({0, 1000, 16000, 80000}));
    switch (dice.Roll(0, 5)) {
      case 0:
        node.Sharing(GpuSharing::TimeSliced(), dice.Roll(2, 3));
        break;
      case 1:
        node.Sharing(GpuSharing::Mps(), 2);
        break;
      case 2:
      case 3:
        node.Sharing(GpuSharing::Fractional());
        break;
      default:
        break;
    }
    if (dice.OneIn(6)) node.Unhealthy(dice.Roll(0, gpus - 1));
  }
  node.Label("zone", dice.OneIn(2) ? "a" : "b");
  if (dice.OneIn(8)) node.Taint("dedicated", "x", TaintEffect::kNoSchedule);
  if (dice.OneIn(10)) node.Cordoned();
  if (dice.OneIn(12)) node.NotReady();
  cluster::Node built = node.Build();
  // Devices of one node need not be alike.
  if (gpus > 1 && dice.OneIn(5)) {
    built.gpus[0].sharing = GpuSharing::Fractional();
    built.gpus[1].memory = cluster::MiB(40000);
  }
  return built;
}

PodBuilder RandomPod(Dice& dice) {
  PodBuilder pod = MakePod("pod");
  pod.MilliCpu(dice.Roll(0, 8) * 500).MemoryMiB(dice.Roll(1, 8) * 512);
  switch (dice.Roll(0, 5)) {
    case 0:
      break;
    case 5:
      pod.GpuParts(dice.Pick<int>({0, 100, 300, 800}), dice.Pick<int>({100, 250, 600, 900}),
                   dice.Pick<int>({1, 1, 2}));
      break;
    case 1:
    case 2:
      pod.Gpus(dice.Pick<int>({1, 1, 2, 4}));
      break;
    case 3:
      pod.GpuShare(dice.Pick<int>({100, 250, 300, 500, 700}), dice.Pick<int>({1, 1, 2}));
      break;
    default:
      pod.GpuShare(100, dice.Roll(1, 2), dice.Pick<int>({200, 8000, 30000}));
      break;
  }
  if (dice.OneIn(3)) pod.Select("zone", dice.OneIn(2) ? "a" : "b");
  if (dice.OneIn(4)) {
    cluster::Toleration toleration;
    toleration.key = "dedicated";
    toleration.op = cluster::Toleration::Op::kExists;
    pod.Tolerate(toleration);
  }
  return pod;
}

std::vector<Demand> RandomGang(Dice& dice, World& world, int most) {
  std::vector<Demand> demands;
  const int roles = dice.Roll(1, 3);
  for (int role = 0; role < roles; ++role) {
    const PodBuilder pod = RandomPod(dice);
    const int count = dice.Roll(1, most);
    for (int i = 0; i < count; ++i) demands.push_back(world.Ask(pod));
  }
  const int nodes = static_cast<int>(world.state.node_count());
  for (Demand& demand : demands) {
    if (dice.OneIn(6)) demand.preferred = NodeIndex{static_cast<uint32_t>(dice.Roll(0, nodes - 1))};
    while (dice.OneIn(6)) {
      demand.excluded.push_back(NodeIndex{static_cast<uint32_t>(dice.Roll(0, nodes - 1))});
    }
    std::sort(demand.excluded.begin(), demand.excluded.end());
  }
  std::shuffle(demands.begin(), demands.end(), dice.engine());
  return demands;
}

}  // namespace muster::testing
