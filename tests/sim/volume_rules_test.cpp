// The simulated kube-scheduler's rules of volumes and Muster's are written apart: on random
// clusters they say the same of every pod and node.
#include "sim/schedulers/volume_rules.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "engine/machines/volume_table.hpp"
#include "policy/fit/pod_conditions.hpp"
#include "tests/support/builders.hpp"

namespace muster::sim::volumes {
namespace {

using cluster::Node;
using cluster::NodeSelectorTerm;
using cluster::Pod;
using policy::PodConditions;
using testing::MakeNode;
using testing::MakePod;

constexpr int kNodes = 4;
constexpr int kClaims = 8;
constexpr const char* kDriver = "csi.example.com";

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  int Below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  bool Once(int in) { return Below(in) == 0; }

 private:
  std::mt19937 random_;
};

std::string NodeName(int number) { return "n" + std::to_string(number); }

std::vector<NodeSelectorTerm> Places(Dice& dice) {
  NodeSelectorTerm term;
  const bool by_zone = dice.Once(2);
  if (dice.Once(4)) return {};
  term.match_expressions.push_back(
      {by_zone ? "zone" : "host",
       dice.Once(6) ? cluster::SelectorOperator::kNotIn : cluster::SelectorOperator::kIn,
       {by_zone ? std::string(1, static_cast<char>('a' + dice.Below(2)))
                : NodeName(dice.Below(kNodes))}});
  return {term};
}

cluster::VolumeTerms Terms(Dice& dice, bool of_claim) {
  cluster::VolumeTerms terms;
  terms.bytes = 1 + dice.Below(3);
  terms.modes = of_claim ? cluster::kOneNode : cluster::kOneNode | cluster::kManyRead;
  if (dice.Once(8)) terms.modes = cluster::kManyRead;
  terms.block = dice.Once(10);
  if (dice.Once(12)) terms.attributes_class = "gold";
  return terms;
}

// What the cluster has, told to both.
struct World {
  explicit World(uint32_t seed) : dice(seed), table(state) {
    for (int i = 0; i < kNodes; ++i) AddNode(NodeName(i));
    late_places = dice.Once(3) ? Places(dice) : std::vector<NodeSelectorTerm>();
    Tell(cluster::StorageClass{"late", kDriver, true, late_places});
    Tell(cluster::StorageClass{"local", cluster::kNoProvisioner, true, {}});
    for (int i = 0; i < kClaims; ++i) AddClaim("c" + std::to_string(i), i);
    for (int i = 0; i < 5; ++i) AddDisk("disk-" + std::to_string(i));
    table.SetReadable(true);
  }

  void Tell(const cluster::StorageRecord& record) {
    OtherRecord other;
    if (const auto* claim = std::get_if<cluster::VolumeClaim>(&record)) other.key = claim->key;
    if (const auto* volume = std::get_if<cluster::Volume>(&record)) other.key.name = volume->name;
    if (const auto* of = std::get_if<cluster::StorageClass>(&record)) other.key.name = of->name;
    if (const auto* of = std::get_if<cluster::NodeDrivers>(&record)) other.key.name = of->node;
    other.storage = std::make_shared<const cluster::StorageRecord>(record);
    rules.OnStorage(Change::kAdded, other);
    table.Upsert(record);
  }
  void AddNode(const std::string& name) {
    muster::testing::NodeBuilder builder = MakeNode(name);
    builder.Label("host", name)
        .Label("zone", std::string(1, static_cast<char>('a' + dice.Below(2))));
    cluster::NodeDrivers drivers{name, {}};
    if (!dice.Once(3)) drivers.limits.push_back({kDriver, dice.Below(4)});
    if (dice.Once(3)) drivers.limits.push_back({"other.example.com", 0});
    Tell(drivers);
    Node node = builder;
    node.attach_limits = table.LimitsOf(name);
    state.Upsert(node);
    nodes.push_back(node);
  }
  // The first half have volumes, the others wait for their pods.
  void AddClaim(const std::string& name, int number) {
    cluster::VolumeClaim claim;
    claim.key = {"default", name};
    claim.storage_class = dice.Once(2) ? "late" : "local";
    claim.terms = Terms(dice, true);
    if (dice.Once(6)) claim.selector = {{"disk", cluster::SelectorOperator::kIn, {"fast"}}};
    if (number < kClaims / 2) {
      claim.bound = true;
      claim.volume = "pv-" + name;
      cluster::Volume volume{claim.volume, claim.storage_class, claim.key, Places(dice)};
      volume.phase = cluster::Volume::Phase::kBound;
      if (!dice.Once(4)) volume.driver = dice.Once(4) ? "other.example.com" : kDriver;
      if (dice.Once(4)) volume.handle = "share";
      Tell(volume);
    } else if (dice.Once(10)) {
      claim.selected_node = NodeName(dice.Below(kNodes));
    }
    Tell(claim);
  }
  // Where a class says where its volumes are made, placement does not ask whether one of those that
  // there are is left.
  void AddDisk(const std::string& name) {
    const bool late = late_places.empty() && dice.Once(4);
    cluster::Volume disk{name, late ? "late" : "local", {}, Places(dice)};
    disk.terms = Terms(dice, false);
    if (dice.Once(2)) disk.labels["disk"] = "fast";
    if (dice.Once(6)) disk.claim = {"default", "c" + std::to_string(dice.Below(kClaims))};
    if (dice.Once(10)) disk.phase = cluster::Volume::Phase::kSpent;
    Tell(disk);
  }
  // With claims of those numbers; as the engine completes it.
  Pod MakeWith(muster::testing::PodBuilder builder, const std::vector<int>& claims) {
    Pod pod = builder;
    cluster::PodVolumes volumes;
    for (const int claim : claims) volumes.claims.push_back({"c" + std::to_string(claim), false});
    pod.volumes = std::make_shared<const cluster::PodVolumes>(volumes);
    return pod;
  }
  // Both sides know all pods that there are before anything is asked.
  void Complete(Pod& pod) {
    engine::VolumeTable::Needs needs = table.NeedsOf(pod);
    cluster::PodVolumes volumes = *pod.volumes;
    volumes.bar = needs.bar;
    if (!needs.demand.none())
      volumes.demand = std::make_shared<const cluster::VolumeDemand>(needs.demand);
    auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
    spec->constraints.volume_places = needs.places;
    pod.spec = spec;
    pod.volumes = std::make_shared<const cluster::PodVolumes>(volumes);
    state.Upsert(pod);
  }

  Dice dice;
  cluster::ClusterState state;
  engine::VolumeTable table;
  VolumeRules rules;
  std::vector<NodeSelectorTerm> late_places;
  std::vector<Node> nodes;
};

struct Compared {
  int same = 0;
  int open = 0;
  int full = 0;   // no more can be attached
  int taken = 0;  // no volume is left
};

// Pods that run have volumes, or ones that are made for them.
std::vector<int> ClaimsOfRunning(World& world) {
  std::vector<int> claims;
  while (claims.empty()) {
    for (int i = 0; i < kClaims / 2; ++i) {
      if (world.dice.Once(3)) claims.push_back(i);
    }
  }
  return claims;
}

// Pods that run, and members that are placed one after the other.
struct Game {
  explicit Game(uint32_t of) : world(of), seed(of) {
    MakePods();
    for (auto* pods : {&running, &members}) {
      for (const Pod& pod : *pods) world.table.Follow(pod);
    }
    for (auto* pods : {&running, &members}) {
      for (Pod& pod : *pods) world.Complete(pod);
    }
    for (const Pod& pod : running) {
      there[pod.node_name].push_back(&pod);
      world.rules.Hold(pod, nullptr);
    }
    for (const Pod& pod : members) {
      policy::Demand demand;
      demand.pod = pod.uid;
      demand.spec = pod.spec;
      demand.face = cluster::FaceOf(pod);
      demands.push_back(demand);
    }
    tx.emplace(world.state.TakeSnapshot());
    conditions = PodConditions::Of(*tx, demands);
  }
  void MakePods() {
    Dice& dice = world.dice;
    for (int i = dice.Below(4); i > 0; --i) {
      muster::testing::PodBuilder pod = MakePod("r" + std::to_string(i));
      pod.BoundTo(NodeName(dice.Below(kNodes)));
      running.push_back(world.MakeWith(pod, ClaimsOfRunning(world)));
    }
    for (int i = 0; i < 4; ++i) {
      std::vector<int> claims = {dice.Below(kClaims)};
      if (dice.Once(2)) claims.push_back((claims[0] + 1 + dice.Below(kClaims - 1)) % kClaims);
      members.push_back(world.MakeWith(MakePod("m" + std::to_string(i)), claims));
    }
  }
  // What both say of a member on a node; true: it may go there.
  bool Compare(size_t member, const Node& node, Compared& compared) {
    const Pod& pod = members[member];
    const bool refused = !world.rules.Refuses(pod).empty();
    const bool reached = !refused && world.rules.Reaches(pod, node);
    const bool attached = reached && world.rules.Attaches(pod, node, there[node.name]);
    const bool open = attached && world.rules.Binds(pod, node);
    const bool matches =
        pod.volumes->bar.empty() && MatchesNode(pod.spec->constraints, node.name, node.labels);
    const auto bar = conditions == nullptr
                         ? PodConditions::Bar::kNone
                         : conditions->On(demands[member], world.state.IndexOf(node.name));
    CAPTURE(seed, pod.key.name, node.name, refused, reached, attached, pod.volumes->bar,
            static_cast<int>(bar));
    REQUIRE((matches && bar == PodConditions::Bar::kNone) == open);
    if (reached) REQUIRE((bar != PodConditions::Bar::kAttachLimit) == attached);
    ++compared.same;
    compared.open += open ? 1 : 0;
    compared.full += reached && !attached ? 1 : 0;
    compared.taken += matches && bar == PodConditions::Bar::kNoVolumeLeft ? 1 : 0;
    return open;
  }
  void Place(size_t member, const Node& node) {
    tx->Place({members[member].uid, world.state.IndexOf(node.name), {}, {}});
    world.rules.Hold(members[member], &node);
    there[node.name].push_back(&members[member]);
  }

  World world;
  const uint32_t seed;
  std::vector<Pod> running;
  std::vector<Pod> members;
  std::map<std::string, std::vector<const Pod*>> there;  // by node
  std::vector<policy::Demand> demands;
  std::optional<cluster::Transaction> tx;
  std::unique_ptr<PodConditions> conditions;
};

// Members one after the other on nodes that take them; after each, what both say of the others.
void CompareOn(uint32_t seed, Compared& compared) {
  Game game(seed);
  for (size_t placed = 0; placed < game.members.size(); ++placed) {
    const Node* to = nullptr;
    for (size_t i = placed; i < game.members.size(); ++i) {
      for (const Node& node : game.world.nodes) {
        const bool open = game.Compare(i, node, compared);
        if (i == placed && open && (to == nullptr || game.world.dice.Once(2))) to = &node;
      }
    }
    if (to != nullptr) game.Place(placed, *to);
  }
}

TEST_CASE("placement and the simulated kube-scheduler judge volumes alike", "[sim][volumes]") {
  Compared compared;
  for (uint32_t seed = 0; seed < 400; ++seed) CompareOn(seed, compared);
  CHECK(compared.same > 10'000);
  CHECK(compared.open > compared.same / 10);
  CHECK(compared.full > compared.same / 100);
  CHECK(compared.taken > 100);
}

}  // namespace
}  // namespace muster::sim::volumes
