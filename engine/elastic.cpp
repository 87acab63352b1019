#include "engine/elastic.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/engine_state.hpp"
#include "engine/minimum.hpp"
#include "engine/request.hpp"
#include "policy/pod_shape.hpp"
#include "topology/fabric.hpp"

namespace muster::engine {

using cluster::PodSpec;
using cluster::Transaction;
using policy::Demand;

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

const cluster::TopologySegment* LargestRequired(
    const std::vector<cluster::TopologySegment>& segments) {
  const cluster::TopologySegment* largest = nullptr;
  for (const cluster::TopologySegment& one : segments) {
    if (one.required && one.size > 1 && (largest == nullptr || one.size > largest->size))
      largest = &one;
  }
  return largest;
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
                               cluster::WholeGpusOf(answer.placements[i]), demands[i].unit});
    }
    if (answer.placed) placed_.push_back(answer.placements);
    return answer.placed;
  }

  // Those that are alike, in order of rank: first what segments lack, one by one, then whole ones.
  void PlaceInSegments(const std::vector<Demand>& alike, const SegmentRule& rule) {
    for (size_t next = 0; next < alike.size();) {
      const size_t count = Lacking(alike.front(), rule) > 0 ? 1 : static_cast<size_t>(rule.size);
      if (alike.size() - next < count) return;
      const auto first = alike.begin() + static_cast<std::ptrdiff_t>(next);
      if (!Place({first, first + static_cast<std::ptrdiff_t>(count)})) return;
      next += count;
    }
  }

  Batches Placed() { return std::move(placed_); }

 private:
  // How many members like this one the segments lack that have some.
  int64_t Lacking(const Demand& like, const SegmentRule& rule) {
    if (rule.level.empty()) {
      const auto placed = std::count_if(
          terms_.placed.begin(), terms_.placed.end(),
          [&](const policy::PlacedMember& member) { return member.unit == like.unit; });
      return (rule.size - placed % rule.size) % rule.size;
    }
    const auto fabric = placer_.FabricOf(tx_.base().nodes());
    for (const topology::LevelRef& level : topology::FindLevels(fabric->options(), rule.level)) {
      std::map<topology::DomainId, int64_t> there;
      for (const policy::PlacedMember& member : terms_.placed) {
        if (member.subgroup == like.subgroup &&
            policy::CompareShapes(*member.spec, *like.spec) == 0)
          ++there[fabric->Of(level, member.node)];
      }
      if (there.contains(topology::kNoDomain)) continue;  // they are segments of another tree
      int64_t lacking = 0;
      for (const auto& [domain, count] : there)
        lacking += (rule.size - count % rule.size) % rule.size;
      return lacking;
    }
    return 0;
  }

  policy::Placer& placer_;
  Transaction& tx_;
  policy::GangTerms terms_;
  Batches placed_;
};

bool Alike(const Demand& a, const Demand& b) { return Alike(a, *b.spec, {b.subgroup, b.unit}); }

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

std::vector<SegmentRule> SegmentRulesOf(const EngineState& state, const Gang& gang) {
  std::vector<SegmentRule> rules;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  for (size_t i = 0; group != nullptr && i < group->units.size(); ++i)
    rules.push_back({policy::Subgroup::kNone, "", group->units[i].size, false, i});
  const cluster::TopologyTerms& said = TopologyOf(state, gang);
  if (said.segments.empty() && said.subgroups.empty()) return rules;
  const cluster::TopologyTerms terms = Heeded(state.options.placement.fabric, said);
  const bool by_pods = group == nullptr || group->topology.none();
  if (const auto* largest = LargestRequired(terms.segments))
    rules.push_back({policy::Subgroup::kNone, largest->level, largest->size, by_pods});
  for (size_t i = 0; i < terms.subgroups.size(); ++i) {
    if (const auto* largest = LargestRequired(terms.subgroups[i].segments))
      rules.push_back({i, largest->level, largest->size, false});
  }
  return rules;
}

Batches PlaceElastic(policy::Placer& placer, Transaction& tx, const std::vector<Demand>& demands,
                     const std::vector<SegmentRule>& rules, policy::GangTerms terms) {
  Placing placing(placer, tx, std::move(terms));
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
      placing.PlaceInSegments(alike, *rule);
      continue;
    }
    if (demand.excluded.empty() && full.contains({demand.spec.get(), demand.subgroup})) continue;
    if (!placing.Place({demand}) && demand.excluded.empty())
      full.emplace(demand.spec.get(), demand.subgroup);
  }
  return placing.Placed();
}

Remainder RemainderOf(const EngineState& state, const Gang& gang) {
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
