#include "engine/judging/elastic.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/gangs/minimum.hpp"
#include "engine/judging/request.hpp"
#include "engine/standing/standing_state.hpp"
#include "policy/search/pod_shape.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::engine {

using cluster::PodSpec;
using cluster::Transaction;
using policy::Demand;
using topology::DomainId;
using topology::LevelRef;

namespace {

struct Place {
  size_t subgroup = policy::Subgroup::kNone;
  size_t unit = policy::GangTerms::kNoUnit;
};

const SegmentRule* RuleFor(const std::vector<SegmentRule>& rules, const Place& place,
                           const PodSpec& spec) {
  const SegmentRule* largest = nullptr;
  for (const SegmentRule& one : rules) {
    const bool of_unit = one.unit != policy::GangTerms::kNoUnit;
    const bool holds = of_unit ? one.unit == place.unit
                               : one.subgroup == place.subgroup &&
                                     (!one.by_pods || !spec.topology.segments.empty());
    if (holds && (largest == nullptr || one.size > largest->size)) largest = &one;
  }
  return largest;
}

const SegmentRule* RuleFor(const std::vector<SegmentRule>& rules, const Demand& demand) {
  return RuleFor(rules, {demand.subgroup, demand.unit}, *demand.spec);
}

bool Alike(const Demand& a, const PodSpec& spec, const Place& place) {
  return a.subgroup == place.subgroup && a.unit == place.unit &&
         policy::CompareShapes(*a.spec, spec) == 0;
}

// That are required, the innermost first.
std::vector<cluster::TopologySegment> LayersOf(std::vector<cluster::TopologySegment> segments) {
  std::erase_if(segments,
                [](const cluster::TopologySegment& one) { return !one.required || one.size <= 1; });
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return a.size < b.size; });
  return segments;
}

// One way to place the elastic members of a gang.
class Placing {
 public:
  Placing(policy::Placer& placer, Transaction& tx, policy::GangTerms terms)
      : placer_(placer), tx_(tx), terms_(std::move(terms)) {}

  // All of them or none.
  bool Place(const std::vector<Demand>& demands) {
    const policy::PlaceAnswer answer =
        placer_.PlaceGang(tx_, demands, policy::NodeFilter::kSchedulable, terms_);
    for (size_t i = 0; i < answer.placements.size(); ++i) {
      terms_.placed.push_back({answer.placements[i].node, demands[i].spec, demands[i].subgroup,
                               cluster::WholeGpusOf(answer.placements[i]), demands[i].unit,
                               demands[i].rank});
    }
    if (answer.placed) placed_.push_back(answer.placements);
    return answer.placed;
  }

  void PlaceEach(const std::vector<Demand>& demands, const std::vector<SegmentRule>& rules);
  Batches Placed() { return std::move(placed_); }

 private:
  void PlaceInSegments(std::vector<Demand> alike, const SegmentRule& rule);
  void MakeUpUnits(std::vector<Demand>& alike, int64_t size);
  void Join(std::vector<Demand>& alike, const cluster::TopologySegment& layer, size_t together);
  void PlaceWhole(const std::vector<Demand>& alike, const SegmentRule& rule);
  bool PlaceBeside(const std::vector<Demand>& demands, const LevelRef& level,
                   const std::function<bool(DomainId)>& joins);
  std::optional<LevelRef> LevelOf(const std::string& name, const Demand& like);
  std::map<DomainId, int64_t> CountIn(const LevelRef& level, const Demand& like);
  DomainId HomeOf(const Demand& demand, const LevelRef& level, int64_t size);
  DomainId DomainOf(const LevelRef& level, cluster::NodeIndex node) {
    return placer_.FabricOf(tx_.base().nodes())->Of(level, node);
  }

  policy::Placer& placer_;
  Transaction& tx_;
  policy::GangTerms terms_;
  std::vector<uint32_t> ranks_;  // of those that are alike, with and without nodes; rising
  Batches placed_;
};

bool Alike(const Demand& a, const Demand& b) { return Alike(a, *b.spec, {b.subgroup, b.unit}); }

bool IsLike(const policy::PlacedMember& member, const Demand& like) {
  return member.subgroup == like.subgroup && policy::CompareShapes(*member.spec, *like.spec) == 0;
}

// The next ones of them, at most so many; they are taken off.
std::vector<Demand> TakeFirst(std::vector<Demand>& demands, size_t most) {
  const auto end = demands.begin() + static_cast<std::ptrdiff_t>(std::min(most, demands.size()));
  std::vector<Demand> first(demands.begin(), end);
  demands.erase(demands.begin(), end);
  return first;
}

void Placing::PlaceEach(const std::vector<Demand>& demands, const std::vector<SegmentRule>& rules) {
  // Once a spec found no room, equal ones will not either.
  std::set<std::pair<const PodSpec*, size_t>> full;  // with the subgroup
  std::vector<const Demand*> seen;                   // one of each that is in segments
  for (const Demand& demand : demands) {
    if (const SegmentRule* rule = RuleFor(rules, demand)) {
      const bool done = std::any_of(seen.begin(), seen.end(),
                                    [&](const Demand* one) { return Alike(*one, demand); });
      if (done) continue;
      seen.push_back(&demand);
      std::vector<Demand> alike;
      std::copy_if(
          demands.begin(), demands.end(), std::back_inserter(alike),
          [&](const Demand& one) { return Alike(one, demand) && RuleFor(rules, one) == rule; });
      std::stable_sort(alike.begin(), alike.end(),
                       [](const Demand& a, const Demand& b) { return a.rank < b.rank; });
      PlaceInSegments(std::move(alike), *rule);
      continue;
    }
    if (demand.excluded.empty() && full.contains({demand.spec.get(), demand.subgroup})) continue;
    if (!Place({demand}) && demand.excluded.empty())
      full.emplace(demand.spec.get(), demand.subgroup);
  }
}

// Those that are alike, in order of rank: first what segments lack, from the innermost ones
// outwards, then whole ones.
void Placing::PlaceInSegments(std::vector<Demand> alike, const SegmentRule& rule) {
  ranks_.clear();
  for (const Demand& demand : alike) ranks_.push_back(demand.rank);
  for (const policy::PlacedMember& member : terms_.placed) {
    if (IsLike(member, alike.front())) ranks_.push_back(member.rank);
  }
  std::sort(ranks_.begin(), ranks_.end());
  if (rule.level.empty()) MakeUpUnits(alike, rule.size);
  size_t together = 1;
  for (const cluster::TopologySegment& layer : rule.layers) {
    Join(alike, layer, together);
    together = static_cast<size_t>(layer.size);
  }
  PlaceWhole(alike, rule);
}

void Placing::MakeUpUnits(std::vector<Demand>& alike, int64_t size) {
  const auto placed = std::count_if(
      terms_.placed.begin(), terms_.placed.end(),
      [&](const policy::PlacedMember& member) { return member.unit == alike.front().unit; });
  for (int64_t lacks = (size - placed % size) % size; lacks > 0 && !alike.empty(); --lacks) {
    if (!Place(TakeFirst(alike, 1))) return alike.clear();
  }
}

// What segments of the layer lack, by so many together, which are a segment of the layer within:
// first those whose neighbours in rank are there. Whose segment has no room waits for it; those
// that belong to none of these segments are left.
void Placing::Join(std::vector<Demand>& alike, const cluster::TopologySegment& layer,
                   size_t together) {
  if (alike.empty()) return;
  const std::optional<LevelRef> level = LevelOf(layer.level, alike.front());
  if (!level) return;
  const auto size = static_cast<int64_t>(together);
  std::map<DomainId, int64_t> lacks;  // so many times `together`
  std::set<DomainId> broken;          // where segments within these ones lack some still
  for (const auto& [domain, count] : CountIn(*level, alike.front())) {
    const int64_t lack = (layer.size - count % layer.size) % layer.size;
    if (lack >= size) lacks[domain] = lack / size;
    if (count % size != 0) broken.insert(domain);
  }
  const auto join = [&](const std::vector<Demand>& group, DomainId domain) {
    return !broken.contains(domain) &&
           PlaceBeside(group, *level, [&](DomainId one) { return one == domain; });
  };
  std::vector<std::vector<Demand>> homeless;
  while (!alike.empty()) {
    std::vector<Demand> group = TakeFirst(alike, together);
    const DomainId home = HomeOf(group.front(), *level, layer.size);
    const auto lack = lacks.find(home);
    if (group.size() < together || lack == lacks.end() || lack->second == 0) {
      homeless.push_back(std::move(group));
      continue;
    }
    --lack->second;
    join(group, home);
  }
  std::erase_if(lacks, [](const auto& one) { return one.second == 0; });
  for (const std::vector<Demand>& group : homeless) {
    if (group.size() < together || lacks.empty()) {
      alike.insert(alike.end(), group.begin(), group.end());
      continue;
    }
    auto joined = std::find_if(lacks.begin(), lacks.end(),
                               [&](const auto& one) { return join(group, one.first); });
    if (joined == lacks.end()) joined = lacks.begin();
    if (--joined->second == 0) lacks.erase(joined);
  }
}

void Placing::PlaceWhole(const std::vector<Demand>& alike, const SegmentRule& rule) {
  std::vector<Demand> left = alike;
  const auto size = static_cast<size_t>(rule.size);
  while (left.size() >= size) {
    const std::vector<Demand> segment = TakeFirst(left, size);
    const std::optional<LevelRef> level = LevelOf(rule.level, segment.front());
    if (!level) {
      if (!Place(segment)) return;
      continue;
    }
    const std::map<DomainId, int64_t> there = CountIn(*level, segment.front());
    const bool placed = PlaceBeside(
        segment, *level, [&](DomainId domain) { return there.at(domain) % rule.size == 0; });
    if (!placed) return;
  }
}

// Of the members like them they join the segments of those alone that are in domains for which
// `joins` says yes.
bool Placing::PlaceBeside(const std::vector<Demand>& demands, const LevelRef& level,
                          const std::function<bool(DomainId)>& joins) {
  for (policy::PlacedMember& member : terms_.placed)
    member.closed = IsLike(member, demands.front()) && !joins(DomainOf(level, member.node));
  const bool placed = Place(demands);
  for (policy::PlacedMember& member : terms_.placed) member.closed = false;
  return placed;
}

// Of the tree in which their segments are; nothing: of none.
std::optional<LevelRef> Placing::LevelOf(const std::string& name, const Demand& like) {
  const auto fabric = placer_.FabricOf(tx_.base().nodes());
  for (const LevelRef& level : topology::FindLevels(fabric->options(), name)) {
    const bool all = std::all_of(
        terms_.placed.begin(), terms_.placed.end(), [&](const policy::PlacedMember& member) {
          return !IsLike(member, like) || fabric->Of(level, member.node) != topology::kNoDomain;
        });
    if (all) return level;
  }
  return std::nullopt;
}

std::map<DomainId, int64_t> Placing::CountIn(const LevelRef& level, const Demand& like) {
  std::map<DomainId, int64_t> there;
  for (const policy::PlacedMember& member : terms_.placed) {
    if (IsLike(member, like)) ++there[DomainOf(level, member.node)];
  }
  return there;
}

// Where most of those are that are in a segment with it, by rank; kNoDomain: none has a node.
DomainId Placing::HomeOf(const Demand& demand, const LevelRef& level, int64_t size) {
  const auto segment_of = [&](uint32_t rank) {
    return (std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin()) / size;
  };
  std::map<DomainId, int64_t> there;
  for (const policy::PlacedMember& member : terms_.placed) {
    if (IsLike(member, demand) && segment_of(member.rank) == segment_of(demand.rank))
      ++there[DomainOf(level, member.node)];
  }
  const auto most = std::max_element(
      there.begin(), there.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == there.end() ? topology::kNoDomain : most->first;
}

// Live members that are in segments together.
struct RunSeries {
  const PodSpec* spec;
  const SegmentRule* rule;
  std::string role;
  int64_t all = 0;
  int64_t open = 0;  // of these have no node yet
};

// `open`: of all members of the gang.
std::vector<RunSeries> SeriesOf(const Gang& gang, const std::vector<SegmentRule>& rules,
                                const policy::GangTerms& terms, int64_t& open) {
  std::vector<RunSeries> series;
  for (const auto& [uid, member] : gang.members) {
    const bool placed = IsThere(member, Counting::kPlanned);
    const bool waits = !placed && IsThere(member, Counting::kReady);
    if (member.pod->terminal() || (!placed && !waits)) continue;
    open += waits ? 1 : 0;
    const PodSpec& spec = *member.pod->spec;
    const std::string& role = member.pod->role;
    const SegmentRule* rule = RuleFor(rules, {terms.SubgroupOf(role), terms.UnitOf(role)}, spec);
    if (rule == nullptr) continue;
    auto at = std::find_if(series.begin(), series.end(), [&](const RunSeries& one) {
      return one.rule == rule && policy::CompareShapes(*one.spec, spec) == 0;
    });
    if (at == series.end()) at = series.insert(at, {&spec, rule, member.pod->role});
    ++at->all;
    at->open += waits ? 1 : 0;
  }
  return series;
}

}  // namespace

std::vector<SegmentRule> SegmentRulesOf(const StandingState& state, const Gang& gang) {
  std::vector<SegmentRule> rules;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  for (size_t i = 0; group != nullptr && i < group->units.size(); ++i)
    rules.push_back({policy::Subgroup::kNone, "", group->units[i].size, false, i});
  const cluster::TopologyTerms& said = TopologyOf(state, gang);
  if (said.segments.empty() && said.subgroups.empty()) return rules;
  const cluster::TopologyTerms terms = Heeded(state.options.placement.fabric, said);
  const bool by_pods = group == nullptr || group->topology.none();
  const auto add = [&](size_t subgroup, const std::vector<cluster::TopologySegment>& segments,
                       bool pods_say) {
    const std::vector<cluster::TopologySegment> layers = LayersOf(segments);
    if (layers.empty()) return;
    const cluster::TopologySegment& largest = layers.back();
    rules.push_back(
        {subgroup, largest.level, largest.size, pods_say, policy::GangTerms::kNoUnit, layers});
  };
  add(policy::Subgroup::kNone, terms.segments, by_pods);
  for (size_t i = 0; i < terms.subgroups.size(); ++i) add(i, terms.subgroups[i].segments, false);
  return rules;
}

Batches PlaceElastic(policy::Placer& placer, Transaction& tx, const std::vector<Demand>& demands,
                     const std::vector<SegmentRule>& rules, policy::GangTerms terms) {
  Placing placing(placer, tx, std::move(terms));
  placing.PlaceEach(demands, rules);
  return placing.Placed();
}

bool StartsInWhole(const std::vector<SegmentRule>& rules, const Demand& demand) {
  return RuleFor(rules, demand) != nullptr;
}

bool AnyInSegments(const std::vector<SegmentRule>& rules) {
  return std::any_of(rules.begin(), rules.end(),
                     [](const SegmentRule& rule) { return !rule.layers.empty(); });
}

// Those whose domain is known come first: it may have no more room than they need.
Batches PlaceLost(policy::Placer& placer, Transaction& tx, const policy::GangRequest& request,
                  const std::vector<SegmentRule>& rules, policy::GangTerms terms) {
  std::vector<Demand> all = request.required;
  std::copy_if(request.elastic.begin(), request.elastic.end(), std::back_inserter(all),
               [&](const Demand& one) { return StartsInWhole(rules, one); });
  std::map<size_t, std::vector<Demand>> together;  // by subgroup
  std::vector<Demand> each;
  for (Demand& demand : all) {
    const size_t lost = WhollyLost(terms, demand.subgroup);
    (lost == policy::Subgroup::kNone ? each : together[lost]).push_back(std::move(demand));
  }
  Placing placing(placer, tx, std::move(terms));
  placing.PlaceEach(each, rules);
  for (const auto& [subgroup, demands] : together) placing.Place(demands);
  return placing.Placed();
}

Remainder RemainderOf(const StandingState& state, const Gang& gang) {
  Remainder remainder;
  // The last one may just have gone: nobody has looked since.
  if (gang.state != GangState::kRunning || gang.members.empty()) return remainder;
  const std::vector<SegmentRule> rules = SegmentRulesOf(state, gang);
  if (rules.empty()) return remainder;
  const bool subgroups = !TopologyOf(state, gang).subgroups.empty();
  policy::GangTerms terms = subgroups ? TermsOf(state, gang, {}) : policy::GangTerms();
  if (const cluster::PodGroup* group = state.members.GroupOf(gang)) terms.units = group->units;
  int64_t open = 0;  // of all members
  int64_t waiting = 0;
  for (const RunSeries& one : SeriesOf(gang, rules, terms, open)) {
    const int64_t rest = one.all % one.rule->size;
    const int64_t wait = std::min(rest, one.open);
    if (wait == 0) continue;
    waiting += wait;
    remainder.text += (remainder.text.empty() ? "" : "; ") + std::to_string(wait) + " of its pods" +
                      (one.role.empty() ? "" : " of role " + one.role) +
                      (wait == 1 ? " waits" : " wait") +
                      (one.rule->level.empty() ? " until there are whole units: "
                                               : " until there are whole segments: ") +
                      std::to_string(one.all) + " = " + std::to_string(one.all / one.rule->size) +
                      " × " + std::to_string(one.rule->size) + " + " + std::to_string(rest);
  }
  remainder.all = waiting == open;
  return remainder;
}

}  // namespace muster::engine
