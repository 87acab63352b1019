// Which GPUs members will find themselves with where NVIDIA's device plugin chooses.
#include <catch2/catch.hpp>
#include <string>

#include "cluster/records/hami_devices.hpp"
#include "tests/engine/harness.hpp"
#include "tests/support/machines.hpp"

namespace muster::engine {
namespace {

using testing::Dgx1v;
using testing::MakeNode;
using testing::MakePod;

std::string ListOf(const std::vector<cluster::GpuIndex>& gpus) {
  std::string text;
  for (const cluster::GpuIndex gpu : gpus) text += std::to_string(gpu.value);
  return text;
}

struct Picks : testing::Harness {
  // "0123 tied 0123, 4567 agree 4567", in the order of names.
  std::string Shown(const std::string& gang) {
    std::string text;
    for (const MemberView& member : Gang(gang).members) {
      text += (text.empty() ? "" : ", ") + ListOf(member.gpus) + " ";
      text += member.kubelet_pick ? std::string(topology::ToString(member.kubelet_pick->outcome)) +
                                        " " + ListOf(member.kubelet_pick->gpus)
                                  : "nothing";
    }
    return text;
  }
  // unknown/agree/tied/differ
  std::string Counted() {
    std::string text;
    for (const int64_t count : engine().Count().kubelet_picks)
      text += (text.empty() ? "" : "/") + std::to_string(count);
    return text;
  }
  void Start(const std::string& gang) {
    ScheduleAll(gang);
    Settle();
    REQUIRE(Gang(gang).state == GangState::kRunning);
  }
  void Occupy(const std::string& pod, const std::vector<uint16_t>& gpus) {
    cluster::Pod record = MakePod(pod).Gpus(static_cast<int32_t>(gpus.size())).BoundTo("n").Build();
    for (const uint16_t gpu : gpus) record.bound_gpus.push_back({gpu});
    Add(record);
  }
};

TEST_CASE("members reach the kubelet one after the other, and find what is left",
          "[engine][kubelet]") {
  Picks world;
  world.Add(Dgx1v("n"));
  world.AddGang("train", 2, 4, 2);
  world.Settle();
  // Beside four NICs each; the second finds what the first one leaves.
  CHECK(world.Shown("train") == "0347 differ 0123, 1256 differ 4567");
  CHECK(world.Counted() == "0/0/0/0");
  world.Start("train");
  CHECK(world.Shown("train") == "0347 differ 0123, 1256 differ 4567");
  CHECK(world.Counted() == "0/0/0/2");
  world.Settle();
  world.Pass(cluster::Seconds(60));
  CHECK(world.Counted() == "0/0/0/2");
}

TEST_CASE("gangs of one reach the kubelet one after the other, too", "[engine][kubelet]") {
  Picks world;
  world.Add(Dgx1v("n"));
  world.AddGang("first", 1, 4, 1);
  world.Settle();
  CHECK(world.Shown("first") == "0123 tied 0123");
  world.Start("first");
  world.AddGang("second", 1, 4, 1);
  world.Settle();
  CHECK(world.Shown("second") == "4567 agree 4567");
  world.Start("second");
  CHECK(world.Counted() == "0/1/1/0");
}

TEST_CASE("who comes after a pod that got other GPUs finds these taken", "[engine][kubelet]") {
  Picks world;
  world.Add(Dgx1v("n"));
  world.Occupy("x", {0, 6});
  world.AddGang("four", 1, 4, 1);
  world.Settle();
  // The stock rule: 1-2-3 and one more, or 4-5-7 and one more; only 1-3-5-7 has a ring.
  const std::string four = world.Shown("four");
  CHECK_THAT(four, Catch::StartsWith("1357 differ "));
  const std::string got = four.substr(four.rfind(' ') + 1);
  CHECK(got != "1357");
  world.Start("four");
  CHECK(world.Shown("four") == four);
  CHECK(world.Counted() == "0/0/0/1");
  // The other two: planned are 2 and 4, and not what the pod before left.
  world.AddGang("two", 1, 2, 1);
  world.Settle();
  std::string left;
  for (const char gpu : std::string("123457")) {
    if (got.find(gpu) == std::string::npos) left += gpu;
  }
  CHECK(world.Shown("two") == "24 " + std::string(left == "24" ? "agree " : "differ ") + left);
}

TEST_CASE("a reservation holds nothing in the kubelet's books", "[engine][kubelet]") {
  Picks world;
  world.Add(Dgx1v("n"));
  world.AddGang("first", 1, 4, 1);
  world.Settle();
  world.AddGang("second", 1, 4, 1);
  world.Settle();
  REQUIRE(world.Gang("second").state == GangState::kReserved);
  CHECK(world.Shown("second") == "4567 tied 4567");
  world.Start("first");
  CHECK(world.Shown("second") == "4567 agree 4567");
}

TEST_CASE("after a restart what was expected of bound pods is not known", "[engine][kubelet]") {
  Picks world;
  world.Add(Dgx1v("n"));
  world.AddGang("train", 1, 8, 1);
  world.Settle();
  world.Start("train");
  CHECK(world.Shown("train") == "01234567 agree 01234567");
  world.Restart();
  world.Settle();
  CHECK(world.Shown("train") == "01234567 nothing");
  CHECK(world.Counted() == "0/0/0/0");
}

TEST_CASE("without links it is not known what the kubelet picks, and that is counted",
          "[engine][kubelet]") {
  Picks world;
  world.Add(MakeNode("n").Gpus(8));
  world.AddGang("train", 1, 2, 1);
  world.Settle();
  world.Start("train");
  CHECK(world.Shown("train") == "01 unknown ");
  CHECK(world.Counted() == "1/0/0/0");
}

std::string HamiOf(const testing::Harness& world) {
  std::string text = "no Binding";
  for (const Action& action : world.log) {
    if (const auto* bind = std::get_if<BindPod>(&action)) text = bind->hami_devices;
  }
  return text;
}

cluster::Node HamiNode() {
  cluster::Node node = MakeNode("n").Gpus(2);
  for (cluster::Gpu& gpu : node.gpus) gpu.uuid = "GPU-" + std::to_string(gpu.index.value);
  node.plugin = cluster::DevicePlugin::kHami;
  return node;
}

std::string UuidsBound(const testing::Harness& world) {
  std::string text = "no Binding";
  for (const Action& action : world.log) {
    if (const auto* bind = std::get_if<BindPod>(&action)) text = bind->gpu_uuids;
  }
  return text;
}

TEST_CASE("the Binding names the planned GPUs by UUID where all of them are known",
          "[engine][kubelet]") {
  Picks world;
  cluster::Node node = MakeNode("n").Gpus(4);
  for (cluster::Gpu& gpu : node.gpus) gpu.uuid = "GPU-" + std::to_string(gpu.index.value);
  node.gpus[3].uuid.clear();
  world.Add(node);
  world.AddGang("known", 1, 2, 1);
  world.Settle();
  world.Start("known");
  CHECK(UuidsBound(world) == "GPU-0,GPU-1");
  world.AddGang("unknown", 1, 2, 1);
  world.Settle();
  world.Start("unknown");
  CHECK(UuidsBound(world).empty());
}

TEST_CASE("the Binding tells HAMi's plugin which devices were planned", "[engine][hami]") {
  Picks world;
  world.Add(HamiNode());
  world.AddGang("train", 1, 2, 1);
  world.Settle();
  world.Start("train");
  CHECK(HamiOf(world) == "GPU-0,NVIDIA,81559,0:GPU-1,NVIDIA,81559,0:;");
  CHECK(world.Shown("train") == "01 nothing");
  CHECK(world.Counted() == "0/0/0/0");
}

TEST_CASE("a device without a UUID is not told, and the gang's Event says so", "[engine][hami]") {
  Picks world;
  cluster::Node node = HamiNode();
  node.gpus[0].uuid.clear();
  world.Add(node);
  world.AddGang("train", 1, 1, 1);
  world.Settle();
  world.Start("train");
  CHECK(HamiOf(world).empty());
  int told = 0;
  for (const Action& action : world.log) {
    const auto* event = std::get_if<EmitEvent>(&action);
    if (event == nullptr || event->reason != "GangDevicesNotHandedOver") continue;
    ++told;
    CHECK(event->warning);
    CHECK_THAT(event->message, Catch::Contains("node n: GPU 0 has no UUID"));
  }
  CHECK(told == 1);
}

}  // namespace
}  // namespace muster::engine
