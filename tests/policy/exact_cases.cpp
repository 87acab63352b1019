#include "tests/policy/exact_cases.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "policy/domains/fabric_wish.hpp"
#include "policy/placing/placement.hpp"
#include "tests/policy/world.hpp"
#include "tests/support/builders.hpp"

namespace muster::testing {
namespace {

std::string LevelName(size_t level) { return "l" + std::to_string(level); }

void MakeFabric(Dice& dice, Trial& trial) {
  trial.exact.levels = static_cast<size_t>(dice.Roll(1, static_cast<int>(kExactLevels)));
  topology::FabricTree tree{"t", topology::FabricPreset::kNone, {}};
  for (size_t level = 0; level < trial.exact.levels; ++level)
    tree.levels.push_back({LevelName(level), {LevelName(level)}, topology::Unlabelled::kOutside});
  if (dice.OneIn(4)) tree.levels.back().unlabelled = topology::Unlabelled::kAlone;
  trial.fabric.trees.push_back(std::move(tree));
}

void AddNode(Dice& dice, Trial& trial, int gpus, bool half_labelled) {
  const size_t i = trial.nodes.size();
  const std::string name = "n" + std::to_string(i);
  const std::vector<topology::FabricLevel>& levels = trial.fabric.trees.front().levels;
  NodeBuilder node = MakeNode(name);
  ExactNode exact;
  bool inside = true;
  for (const topology::FabricLevel& level : levels) {
    // The first node has all labels, so that every level is there.
    const bool missing = i > 0 && half_labelled && dice.OneIn(5);
    const std::string value = std::to_string(dice.Roll(0, 2));
    if (!missing) node.Label(level.name, value);
    const bool alone = missing && level.unlabelled == topology::Unlabelled::kAlone;
    inside = inside && (!missing || alone);
    if (inside) exact.path.push_back(alone ? "alone " + name : value);
  }
  node.Gpus(gpus);
  std::vector<int> order(static_cast<size_t>(gpus));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), dice.engine());
  const size_t unhealthy = dice.OneIn(5) ? static_cast<size_t>(dice.Roll(1, 2)) : 0;
  for (size_t gpu = 0; gpu < unhealthy; ++gpu) node.Unhealthy(order[gpu]);
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(unhealthy));
  const int taken = dice.OneIn(2) ? dice.Roll(0, static_cast<int>(order.size())) : 0;
  exact.free = static_cast<int>(order.size()) - taken;
  order.resize(static_cast<size_t>(taken));
  trial.nodes.push_back(node.Build());
  trial.taken.push_back(std::move(order));
  trial.exact.nodes.push_back(std::move(exact));
}

// Below each other, the largest first.
void AddSegments(Dice& dice, Trial& trial) {
  int size = dice.Roll(2, 3);
  auto level = static_cast<size_t>(dice.Roll(0, static_cast<int>(trial.exact.levels) - 1));
  std::vector<cluster::TopologySegment>& segments = trial.terms.segments;
  segments.push_back({LevelName(level), size, dice.OneIn(2)});
  std::vector<ExactSegment> exact = {{level, size}};
  while (level > 0 && dice.OneIn(2)) {
    level = static_cast<size_t>(dice.Roll(0, static_cast<int>(level) - 1));
    size *= dice.Roll(1, 3);
    segments.insert(segments.begin(), {LevelName(level), size, dice.OneIn(2)});
    exact.insert(exact.begin(), {level, size});
  }
  trial.exact.segments = {exact};
  for (size_t i = segments.size(); i-- > 0;) {
    if (segments[i].required) continue;
    exact.erase(exact.begin() + static_cast<std::ptrdiff_t>(i));
    trial.exact.segments.push_back(exact);
  }
}

void MakeTerms(Dice& dice, Trial& trial) {
  const int innermost = static_cast<int>(trial.exact.levels) - 1;
  size_t required = 0;
  if (dice.OneIn(3)) {
    required = static_cast<size_t>(dice.Roll(0, innermost));
    trial.exact.required = required;
    trial.terms.required = LevelName(required);
  }
  if (dice.OneIn(2)) {
    trial.terms.preferred =
        LevelName(static_cast<size_t>(dice.Roll(static_cast<int>(required), innermost)));
  }
  if (dice.OneIn(3)) AddSegments(dice, trial);
}

void AddRoles(Dice& dice, Trial& trial, int gpus) {
  const std::vector<ExactSegment>& segments = trial.exact.segments.front();
  const int piece = segments.empty() ? 1 : segments.front().size;
  std::vector<int> sizes =
      gpus == 8 ? std::vector<int>{1, 2, 3, 4, 6, 8} : std::vector<int>{1, 2, 3, 4};
  std::shuffle(sizes.begin(), sizes.end(), dice.engine());
  const auto roles = static_cast<size_t>(dice.Roll(1, static_cast<int>(kExactRoles)));
  const int most = roles == 1 ? 12 : 6;
  const bool whole = !dice.OneIn(8);
  for (size_t role = 0; role < roles; ++role) {
    // A pod by itself goes by other rules (placement.hpp, 7).
    const int pods = dice.Roll(roles == 1 ? 2 : 1, most);
    trial.exact.roles.push_back({sizes[role], whole ? (pods + piece - 1) / piece * piece : pods});
  }
  if (dice.OneIn(8)) return;
  // Most gangs are not larger than what is free.
  int free = 0;
  for (const ExactNode& node : trial.exact.nodes) free += node.free;
  for (size_t role = 0; role < roles; ++role) {
    ExactRole& one = trial.exact.roles[role];
    const int step = whole ? piece : 1;
    const int least = roles == 1 ? std::max(step, 2) : step;
    while (one.pods - step >= least && one.pods * one.gpus * static_cast<int>(roles) > free)
      one.pods -= step;
  }
}

}  // namespace

Trial RandomTrial(Dice& dice) {
  Trial trial;
  MakeFabric(dice, trial);
  const int gpus = dice.OneIn(2) ? 8 : 4;
  const bool mixed = dice.OneIn(4);
  const bool half_labelled = dice.OneIn(3);
  for (int nodes = dice.Roll(2, 12); nodes > 0; --nodes)
    AddNode(dice, trial, mixed && dice.OneIn(2) ? 12 - gpus : gpus, half_labelled);
  MakeTerms(dice, trial);
  AddRoles(dice, trial, gpus);
  return trial;
}

TrialAnswer AnswerTo(const Trial& trial, Dice* shuffle) {
  const auto order_of = [&](size_t size) {
    std::vector<size_t> order(size);
    std::iota(order.begin(), order.end(), size_t{0});
    if (shuffle != nullptr) std::shuffle(order.begin(), order.end(), shuffle->engine());
    return order;
  };
  World world;
  for (const size_t node : order_of(trial.nodes.size())) world.Add(trial.nodes[node]);
  for (const size_t node : order_of(trial.nodes.size())) {
    const std::vector<int>& gpus = trial.taken[node];
    if (gpus.empty()) continue;
    const auto count = static_cast<int32_t>(gpus.size());
    world.Occupy(trial.nodes[node].name, MakePod("other").Gpus(count), gpus);
  }
  std::vector<std::pair<size_t, size_t>> pods;  // role and rank
  for (size_t role = 0; role < trial.exact.roles.size(); ++role) {
    for (int rank = 0; rank < trial.exact.roles[role].pods; ++rank)
      pods.emplace_back(role, static_cast<size_t>(rank));
  }
  const std::vector<size_t> order = order_of(pods.size());
  std::vector<policy::Demand> demands;
  demands.reserve(pods.size());
  for (const size_t pod : order) {
    demands.push_back(world.Ask(MakePod("p").Gpus(trial.exact.roles[pods[pod].first].gpus)));
    demands.back().rank = static_cast<uint32_t>(pods[pod].second);
  }
  policy::GangTerms gang;
  if (!trial.terms.none()) gang.wish = std::make_shared<const policy::FabricWish>(trial.terms);
  policy::Placer placer(policy::Options{policy::Strategy::kBinpack, trial.fabric});
  cluster::Transaction tx(world.state.TakeSnapshot());
  const policy::PlaceAnswer placed =
      placer.PlaceGang(tx, demands, policy::NodeFilter::kSchedulable, gang);
  TrialAnswer answer;
  if (!placed.placed) return answer;
  answer.fault = FaultOf(world, demands, placed);
  answer.where.resize(pods.size());
  ExactPlaces& places = answer.places.emplace();
  for (const ExactRole& role : trial.exact.roles) places.emplace_back(role.pods);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [role, rank] = pods[order[i]];
    const std::string name = world.state.node(placed.placements[i].node)->name;
    places[role][rank] = static_cast<size_t>(std::stoul(name.substr(1)));
    answer.where[order[i]] = world.Where(placed.placements[i]);
  }
  return answer;
}

}  // namespace muster::testing
