// Random facts, in any order and more than once, and reservations between them; after every step
// the numbers must add up, and every few steps a state that is built again from the records must be
// equal, byte for byte.
//
//   MUSTER_PROPERTY_STEPS   how many steps (20,000)
//   MUSTER_PROPERTY_SEED    the seed of a run that failed (the test run's own)
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Gone {
  std::variant<NodeUid, PodUid, PodGroupUid> uid;
};
using AnyFact = std::variant<Node, Pod, PodGroup, Gone>;

void Feed(ClusterState& state, const AnyFact& fact) {
  if (const Gone* gone = std::get_if<Gone>(&fact)) {
    std::visit([&](const auto& uid) { state.Remove(uid); }, gone->uid);
  } else if (const Node* node = std::get_if<Node>(&fact)) {
    state.Upsert(*node);
  } else if (const Pod* pod = std::get_if<Pod>(&fact)) {
    state.Upsert(*pod);
  } else {
    state.Upsert(std::get<PodGroup>(fact));
  }
}

// Makes up facts about a handful of names, so that they meet often.
class PropertyWorld {
 public:
  explicit PropertyWorld(uint64_t seed) : random_(seed) {}

  uint32_t Below(size_t n) { return static_cast<uint32_t>(random_() % n); }
  bool OneIn(size_t n) { return Below(n) == 0; }

  Node AnyNode() {
    const std::string name = "n" + std::to_string(Below(kNodes));
    auto node = MakeNode(name).Uid(Uid("node", name)).Gpus(static_cast<int>(Below(9)));
    node.Cpu(4 + Below(8)).PodSlots(4 + Below(20));
    Share(node);
    if (OneIn(3)) node.Unhealthy(static_cast<int>(Below(8)));
    if (OneIn(4)) node.Label("zone", std::to_string(Below(3)));
    if (OneIn(6)) node.NotReady();
    return node;
  }

  Pod AnyPod() {
    const std::string name = "p" + std::to_string(Below(kPods));
    auto pod = MakePod(name).Uid(Uid("pod", name)).CreatedAt(Below(5));
    pod.MilliCpu(Below(1500)).MemoryMiB(Below(4096));
    AskForGpus(pod);
    if (!OneIn(3)) pod.Version(static_cast<int64_t>(++version_ - Below(30)));
    if (!OneIn(3)) pod.Queue("q" + std::to_string(Below(3)));
    if (OneIn(8)) pod.Deleting();
    if (OneIn(8)) pod.Phase(OneIn(2) ? PodPhase::kSucceeded : PodPhase::kFailed);
    if (OneIn(2)) {
      std::vector<int> listed;
      if (OneIn(2)) {
        for (uint32_t i = Below(5); i > 0; --i) listed.push_back(static_cast<int>(Below(9)));
      }
      pod.BoundTo("n" + std::to_string(Below(kNodes + 1)), listed);
      if (OneIn(3)) return Resized(pod);
    }
    return pod;
  }

  PodGroup AnyGroup() {
    const std::string name = "g" + std::to_string(Below(4));
    return MakePodGroup(name).Uid(Uid("group", name)).MinMember(Below(4)).Version(Below(9));
  }

  AnyFact AnyRemoval() {
    const uint32_t kind = Below(8);
    if (kind == 0) return Gone{AnyNode().uid};
    if (kind == 1) return Gone{AnyGroup().uid};
    return Gone{AnyPod().uid};
  }

  // Mostly something new, sometimes what was said before.
  AnyFact Next() {
    if (!said_.empty() && OneIn(6)) return said_[Below(said_.size())];
    const uint32_t kind = Below(20);
    AnyFact fact = AnyPod();
    if (kind < 3) fact = AnyNode();
    if (kind == 3) fact = AnyGroup();
    if (kind > 15) fact = AnyRemoval();
    said_.push_back(fact);
    if (said_.size() > 100) said_.erase(said_.begin() + Below(100));
    return fact;
  }

  template <typename T>
  void Shuffle(std::vector<T>& items) {
    std::shuffle(items.begin(), items.end(), random_);
  }

 private:
  static constexpr size_t kNodes = 6;
  static constexpr size_t kPods = 40;

  // It holds more or less than it asks for.
  Pod Resized(Pod pod) {
    cluster::Resources held = pod.spec->requests;
    held.cpu = cluster::MilliCpu(Below(3000));
    held.memory = cluster::MiB(Below(8192));
    pod.resized = std::make_shared<const cluster::Resources>(held);
    return pod;
  }

  // What a pod asks of GPUs never changes in its life.
  static void AskForGpus(testing::PodBuilder& builder) {
    const Pod pod = builder;
    std::mt19937 fixed(static_cast<unsigned>(std::hash<PodUid>{}(pod.uid)));
    const auto below = [&](unsigned n) { return static_cast<int32_t>(fixed() % n); };
    const int32_t kind = below(4);
    if (kind == 1) builder.GpuShare(1 + below(1000), 1 + below(2), below(40'000));
    if (kind == 1 && below(2) == 0) builder.GpuParts(below(1000), 1 + below(999), 1 + below(2));
    if (kind > 1) builder.Gpus(1 + below(4));
  }

  // Nor does how a node shares its devices.
  static void Share(testing::NodeBuilder& builder) {
    const size_t fixed = std::hash<NodeUid>{}(builder.Build().uid);
    if (fixed % 4 == 0) builder.Sharing(GpuSharing::Fractional());
    if (fixed % 4 == 1)
      builder.Sharing(GpuSharing::TimeSliced(), static_cast<int32_t>(fixed / 4 % 5));
  }

  // The object's UID of now; now and then it was deleted and recreated.
  std::string Uid(const std::string& kind, const std::string& name) {
    int& incarnation = incarnations_[kind + name];
    if (OneIn(12)) ++incarnation;
    return kind + "-" + name + "-" + std::to_string(incarnation);
  }

  std::mt19937_64 random_;
  uint64_t version_ = 100;
  std::map<std::string, int> incarnations_;
  std::vector<AnyFact> said_;
};

// A placement of `pod` on `node` that fits, if the lowest devices allow one.
bool PlanOn(const ClusterState& state, const FreeTable& free, const Pod& pod, const Node& node,
            Placement& plan) {
  plan = {pod.uid, state.IndexOf(node.name), pod.spec->requests, {}};
  const auto left = free.gpus(plan.node);
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    if (plan.gpus.size() == static_cast<size_t>(pod.spec->gpus.count)) break;
    const DeviceAmount share = ShareOn(node.gpus[i], pod.spec->gpus);
    if (!share.none() && left[i].Holds(share)) {
      plan.gpus.push_back({node.gpus[i].index, share});
    }
  }
  return plan.gpus.size() == static_cast<size_t>(pod.spec->gpus.count) && free.Fits(node, plan);
}

// Reserves up to three pods as one gang and returns whether there was any. What fits must be
// accepted.
bool ReserveSome(ClusterState& state, PropertyWorld& world) {
  std::vector<Placement> gang;
  std::vector<const Pod*> pods = state.Pods();
  std::vector<const Node*> nodes = state.Nodes();
  world.Shuffle(pods);
  world.Shuffle(nodes);
  FreeTable left = state.TakeSnapshot()->free();
  for (const Pod* pod : pods) {
    if (pod->bound() || pod->terminal() || state.AllocationOf(pod->uid) != nullptr) continue;
    Placement plan;
    for (const Node* node : nodes) {
      if (!PlanOn(state, left, *pod, *node, plan)) continue;
      left.Take(*node, plan);
      gang.push_back(plan);
      break;
    }
    if (gang.size() == 3) break;
  }
  const Status status = state.Reserve(gang);
  REQUIRE(status.ok());
  return !gang.empty();
}

// Binds a reserved pod where it is planned, its devices in the annotation, as Muster's writer does.
void BindSome(ClusterState& state, PropertyWorld& world) {
  std::vector<const Pod*> pods = state.Pods();
  world.Shuffle(pods);
  for (const Pod* pod : pods) {
    const Allocation* held = state.AllocationOf(pod->uid);
    if (held == nullptr || held->holding != Holding::kReserved || !held->devices_known) continue;
    Pod bound = *pod;
    bound.node_name = state.node(held->placement.node)->name;
    bound.bound_gpus.clear();
    for (const GpuShare& share : held->placement.gpus) bound.bound_gpus.push_back(share.index);
    const std::vector<GpuShare> planned = held->placement.gpus;
    state.Upsert(bound);
    REQUIRE(state.AllocationOf(bound.uid)->placement.gpus == planned);
    return;
  }
}

// What the engine does with reservations that are no longer sound.
void ReleaseUnsound(ClusterState& state) {
  for (const Pod* pod : state.Pods()) {
    const Allocation* held = state.AllocationOf(pod->uid);
    if (held == nullptr || held->holding != Holding::kReserved) continue;
    if (state.Overcommitted(held->placement.node)) REQUIRE(state.Release(pod->uid));
  }
}

void CheckNode(ClusterState& state, const Node& node) {
  const NodeIndex index = state.IndexOf(node.name);
  REQUIRE(state.node(index) == &node);
  const auto snapshot = state.TakeSnapshot();
  Resources left = node.allocatable;
  std::vector<DeviceAmount> taken(node.gpus.size());
  bool known = true;
  for (const PodUid& uid : state.HoldersOn(index)) {
    const Pod* pod = state.FindPod(uid);
    const Allocation* held = state.AllocationOf(uid);
    REQUIRE((pod != nullptr && held != nullptr));
    REQUIRE((held->placement.node == index && held->placement.pod == uid));
    REQUIRE_FALSE(pod->terminal());
    REQUIRE((held->holding == Holding::kBound ? pod->node_name == node.name : !pod->bound()));
    if (pod->bound()) REQUIRE(held->placement.requests == pod->held());
    left -= held->placement.requests;
    known = known && held->devices_known;
    for (const GpuShare& share : held->placement.gpus) {
      const auto device = std::find_if(node.gpus.begin(), node.gpus.end(),
                                       [&](const Gpu& gpu) { return gpu.index == share.index; });
      REQUIRE(device != node.gpus.end());
      taken[static_cast<size_t>(device - node.gpus.begin())] += share.taken;
    }
  }
  const NodeFree& free = snapshot->free().at(index);
  REQUIRE(free.resources.cpu.value() == std::max<int64_t>(left.cpu.value(), 0));
  REQUIRE(free.resources.memory.value() == std::max<int64_t>(left.memory.value(), 0));
  REQUIRE(free.resources.pods == std::max<int64_t>(left.pods, 0));
  // GPUs by number, as kube-scheduler has them, where none is shared.
  int64_t gpus_left = 0;
  bool shared = false;
  for (const Gpu& gpu : node.gpus) {
    const bool turns = gpu.sharing == GpuSharing::TimeSliced() || gpu.sharing == GpuSharing::Mps();
    shared = shared || gpu.sharing == GpuSharing::Fractional();
    if (gpu.healthy) gpus_left += turns ? std::max(gpu.replicas, 1) : 1;
  }
  for (const PodUid& uid : state.HoldersOn(index)) {
    const GpuRequest& wants = state.FindPod(uid)->spec->gpus;
    if (!wants.fractional()) gpus_left -= wants.count;
  }
  const bool too_many = !shared && gpus_left < 0;
  REQUIRE(state.Overcommitted(index) ==
          (!known || left.cpu.value() < 0 || left.pods < 0 || too_many));
  int64_t compute = 0;
  int64_t memory = 0;
  bool broken_in_use = false;
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    broken_in_use = broken_in_use || (!node.gpus[i].healthy && !taken[i].none());
  }
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    REQUIRE(DeviceAmount::All().Holds(taken[i]));
    const bool offered = known && node.gpus[i].healthy;
    const DeviceAmount want = offered ? DeviceAmount::All() - taken[i] : DeviceAmount();
    const DeviceAmount have = snapshot->free().gpus(index)[i];
    if (broken_in_use) {  // as much may be withheld
      REQUIRE((have.Holds({}) && want.Holds(have)));
    } else {
      REQUIRE(have == want);
    }
    compute += have.compute().value();
    memory += have.memory().value();
  }
  REQUIRE(free.gpu_compute == compute);
  REQUIRE(free.gpu_memory == memory);
}

void CheckAll(ClusterState& state) {
  size_t holding = 0;
  for (const Node* node : state.Nodes()) {
    CheckNode(state, *node);
    holding += state.HoldersOn(state.IndexOf(node->name)).size();
  }
  size_t held = 0;
  size_t reserved = 0;
  for (const Pod* pod : state.Pods()) {
    REQUIRE(state.FindPod(pod->key) == pod);
    const Allocation* allocation = state.AllocationOf(pod->uid);
    if (allocation != nullptr) ++held;
    if (allocation != nullptr && allocation->holding == Holding::kReserved) ++reserved;
    const bool must = pod->bound() && !pod->terminal() && state.FindNode(pod->node_name) != nullptr;
    if (must) REQUIRE(allocation != nullptr);
  }
  REQUIRE(held == holding);
  REQUIRE(reserved == state.reservation_count());
}

// The same records in another order, reservations before the pods that are assumed on what is left.
std::string Rebuilt(ClusterState& state, PropertyWorld& world) {
  ClusterState rebuilt;
  std::vector<const Node*> nodes = state.Nodes();
  std::vector<const Pod*> pods = state.Pods();
  std::vector<const PodGroup*> groups = state.PodGroups();
  world.Shuffle(nodes);
  world.Shuffle(pods);
  world.Shuffle(groups);
  const auto late = nodes.begin() + world.Below(nodes.size() + 1);
  for (auto node = nodes.begin(); node != late; ++node) rebuilt.Upsert(**node);
  std::stable_partition(pods.begin(), pods.end(), [](const Pod* pod) { return !pod->bound(); });
  const auto bound = std::find_if(pods.begin(), pods.end(), [](auto* pod) { return pod->bound(); });
  for (auto pod = pods.begin(); pod != bound; ++pod) rebuilt.Upsert(**pod);
  for (const PodGroup* group : groups) rebuilt.Upsert(*group);
  for (auto node = late; node != nodes.end(); ++node) rebuilt.Upsert(**node);
  std::vector<Placement> plans;
  for (auto pod = pods.begin(); pod != bound; ++pod) {
    const Allocation* held = state.AllocationOf((*pod)->uid);
    if (held == nullptr) continue;
    plans.push_back(held->placement);
    plans.back().node = rebuilt.IndexOf(state.node(held->placement.node)->name);
  }
  REQUIRE(rebuilt.Reserve(plans).ok());
  for (auto pod = bound; pod != pods.end(); ++pod) rebuilt.Upsert(**pod);
  return rebuilt.Dump();
}

// The lines that only one of the texts has.
std::string Difference(const std::string& rebuilt, const std::string& incremental) {
  std::map<std::string, int> lines;
  const auto count = [&](const std::string& text, int side) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines[line] += side;
  };
  count(rebuilt, 1);
  count(incremental, -1);
  std::string difference;
  for (const auto& [line, side] : lines) {
    if (side != 0) difference += (side > 0 ? "rebuilt:     " : "incremental: ") + line + "\n";
  }
  return difference;
}

// The numbers that a snapshot shows, to see that they stay and when they rise.
std::map<std::string, std::vector<int64_t>> Shown(const Snapshot& snapshot) {
  std::map<std::string, std::vector<int64_t>> shown;
  for (uint32_t i = 0; i < snapshot.size(); ++i) {
    const NodeIndex index{i};
    if (snapshot.node(index) == nullptr) continue;
    const NodeFree& free = snapshot.free().at(index);
    std::vector<int64_t>& numbers = shown[snapshot.node(index)->name];
    numbers = {free.resources.cpu.value(), free.resources.memory.value(), free.resources.pods};
    for (const DeviceAmount& gpu : snapshot.free().gpus(index)) {
      numbers.push_back(gpu.compute().value());
      numbers.push_back(gpu.memory().value());
    }
  }
  return shown;
}

bool AnythingRose(const std::map<std::string, std::vector<int64_t>>& before,
                  const std::map<std::string, std::vector<int64_t>>& after) {
  for (const auto& [node, numbers] : after) {
    const auto old = before.find(node);
    if (old == before.end()) return true;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] > (i < old->second.size() ? old->second[i] : 0)) return true;
    }
  }
  return false;
}

// A bound pod stays where it is, with the annotation it was bound with. A reserved one that is
// bound by somebody else goes elsewhere: when it is bound to the very node without an annotation,
// its devices are known from the reservation alone, and a state that is built again cannot know
// them.
void KeepBinding(const ClusterState& state, Pod& pod) {
  const Pod* known = state.FindPod(pod.uid);
  if (known == nullptr) return;
  const Allocation* held = state.AllocationOf(pod.uid);
  if (known->bound()) {
    pod.node_name = known->node_name;
    pod.bound_gpus = known->bound_gpus;
  } else if (held != nullptr && state.node(held->placement.node)->name == pod.node_name) {
    pod.node_name.clear();
    pod.bound_gpus.clear();
  }
}

void Step(ClusterState& state, PropertyWorld& world) {
  const uint32_t choice = world.Below(16);
  if (choice == 0) {
    ReserveSome(state, world);
  } else if (choice == 1) {
    BindSome(state, world);
  } else if (choice == 2) {
    const std::vector<const Pod*> pods = state.Pods();
    if (!pods.empty()) state.Release(pods[world.Below(pods.size())]->uid);
  } else {
    AnyFact fact = world.Next();
    if (Pod* pod = std::get_if<Pod>(&fact)) KeepBinding(state, *pod);
    Feed(state, fact);
    if (!world.OneIn(10)) return;
    const std::string before = state.Dump();
    Feed(state, fact);
    REQUIRE(state.Dump() == before);
  }
}

TEST_CASE("after any facts in any order the numbers add up, and a rebuilt state is the same",
          "[cluster][property]") {
  const uint64_t steps = FromEnvironment("MUSTER_PROPERTY_STEPS", 20'000);
  const uint64_t seed = FromEnvironment("MUSTER_PROPERTY_SEED", Catch::rngSeed());
  std::cout << "cluster property test: MUSTER_PROPERTY_SEED=" << seed << ", " << steps
            << " steps\n";
  ClusterState state;
  PropertyWorld world(seed);
  auto snapshot = state.TakeSnapshot();
  auto shown = Shown(*snapshot);
  for (uint64_t step = 0; step < steps; ++step) {
    INFO("MUSTER_PROPERTY_SEED=" << seed << ", step " << step);
    const uint64_t growth = state.growth();
    Step(state, world);
    CheckAll(state);
    REQUIRE(Shown(*snapshot) == shown);
    const auto next = state.TakeSnapshot();
    auto next_shown = Shown(*next);
    if (next_shown != shown) REQUIRE(next->generation() != snapshot->generation());
    if (AnythingRose(shown, next_shown)) REQUIRE(state.growth() != growth);
    if (step % 10 == 0) {
      ReleaseUnsound(state);
      REQUIRE(Difference(Rebuilt(state, world), state.Dump()) == "");
    }
    snapshot = state.TakeSnapshot();
    shown = Shown(*snapshot);
  }
}

}  // namespace
}  // namespace muster::cluster
