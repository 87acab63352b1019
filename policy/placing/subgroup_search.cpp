#include "policy/placing/subgroup_search.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "policy/search/search.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using cluster::NodeSet;

namespace {

std::shared_ptr<const NodeSet> InBoth(const NodeSet& a, const NodeSet& b) {
  auto both = std::make_shared<NodeSet>();
  for (const NodeIndex node : a.Nodes()) {
    if (b.Contains(node)) both->Add(node);
  }
  return both;
}

// What `inner` is within `outer`. Its segments are its own, or else those of the one around it; no
// nodes where it loses segments that are required.
Domain Within(const Domain& outer, const Domain& inner) {
  Domain domain = inner;
  if (outer.nodes != nullptr && inner.nodes == nullptr) {
    domain = outer;
  } else if (outer.nodes != nullptr) {
    std::shared_ptr<const NodeSet> both = InBoth(*outer.nodes, *inner.nodes);
    const uint32_t count = both->count();
    if (count == outer.nodes->count()) {
      domain = outer;
    } else if (count < inner.nodes->count()) {
      domain = {std::move(both), inner.name};
    }
  }
  const Segments& segments = inner.segments.choices.empty() ? outer.segments : inner.segments;
  const bool kept =
      domain.tree && domain.tree == (inner.segments.choices.empty() ? outer : inner).tree;
  if (!kept && !segments.text.empty()) return {std::make_shared<const NodeSet>(), inner.name};
  domain.segments = kept ? segments : Segments();
  domain.packed = outer.packed;
  return domain;
}

void SortUnique(std::vector<NodeIndex>& nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

}  // namespace

SubgroupSearch::SubgroupSearch(cluster::Transaction& tx, const std::vector<Demand>& demands,
                               const GangTerms& terms, const Ports& ports)
    : tx_(tx),
      demands_(demands),
      terms_(terms),
      ports_(ports),
      groups_(terms.subgroups.size() + 1),
      wished_(groups_.size()),
      placements_(demands.size()) {
  const size_t gang = terms.subgroups.size();
  for (size_t i = 0; i < demands.size(); ++i) {
    size_t group = std::min(demands[i].subgroup, gang);
    groups_[group].own.push_back(i);
    while (true) {
      groups_[group].all.push_back(i);
      groups_[group].gpu_milli += demands[i].spec->gpus.total().value();
      if (group == gang) break;
      group = std::min(terms.subgroups[group].parent, gang);
    }
  }
  for (size_t i = 0; i < gang; ++i)
    groups_[std::min(terms.subgroups[i].parent, gang)].inner.push_back(i);
  for (Group& group : groups_) {
    std::stable_sort(group.inner.begin(), group.inner.end(), [&](size_t a, size_t b) {
      return std::tuple(terms.subgroups[a].level, groups_[a].gpu_milli, groups_[a].all.size()) >
             std::tuple(terms.subgroups[b].level, groups_[b].gpu_milli, groups_[b].all.size());
    });
  }
  AddSteps(gang);
  std::map<std::shared_ptr<const cluster::PodSpec>, int64_t, ShapeLess> known;
  shapes_.reserve(demands.size());
  for (const Demand& demand : demands)
    shapes_.push_back(known.emplace(demand.spec, std::ssize(known)).first->second);
}

void SubgroupSearch::AddSteps(size_t group) {
  if (groups_[group].all.empty()) return;
  if (group + 1 < groups_.size()) steps_.push_back({group, true});
  for (const size_t inner : groups_[group].inner) AddSteps(inner);
  if (!groups_[group].own.empty()) steps_.push_back({group, false});
  groups_[group].end = steps_.size();
}

SubgroupSearch::State SubgroupSearch::StateAt(size_t step) const {
  using Place = std::tuple<size_t, topology::DomainId, uint32_t, uint32_t>;
  const auto place_of = [](const Group& group) {
    const Domain& domain = group.domain;
    const Domain& named = group.named;
    if (domain.nodes == nullptr) return Place{0, topology::kNoDomain, 0, 0};
    return Place{named.tree ? *named.tree + 1 : 0, named.id, domain.nodes->first().value,
                 domain.nodes->count()};
  };
  std::map<std::pair<Place, int64_t>, int64_t> pods;  // below 0: no pods, but a domain chosen
  for (size_t done = 0; done < step; ++done) {
    const size_t group = steps_[done].group;
    const Place place = place_of(groups_[group]);
    if (steps_[done].chooses && groups_[group].end > step)
      pods[{place, -1 - static_cast<int64_t>(group)}] = 1;
    if (steps_[done].chooses) continue;
    for (const size_t i : groups_[group].own) ++pods[{place, shapes_[i]}];
  }
  State state{static_cast<int64_t>(step)};
  for (const auto& [where, count] : pods) {
    const auto& [tree, id, first, nodes] = where.first;
    for (const int64_t part :
         {static_cast<int64_t>(tree), static_cast<int64_t>(id), static_cast<int64_t>(first),
          static_cast<int64_t>(nodes), where.second, count})
      state.push_back(part);
  }
  return state;
}

std::vector<Demand> SubgroupSearch::DemandsOf(const std::vector<size_t>& positions) const {
  std::vector<Demand> demands;
  demands.reserve(positions.size());
  for (const size_t i : positions) demands.push_back(demands_[i]);
  return demands;
}

// As those of a gang of its own; pods in no subgroup are beside all others.
GangTerms SubgroupSearch::TermsOf(size_t group) const {
  GangTerms terms;
  terms.queue = terms_.queue;
  terms.replaces = terms_.replaces;
  terms.kept = terms_.kept;
  const bool is_gang = group + 1 == groups_.size();
  const auto is_in = [&](size_t subgroup) {
    while (subgroup != Subgroup::kNone && subgroup != group)
      subgroup = terms_.subgroups[subgroup].parent;
    return is_gang || subgroup == group;
  };
  for (const PlacedMember& member : terms_.placed) {
    if (!is_in(member.subgroup)) {
      terms.elsewhere.push_back(member);
      continue;
    }
    terms.placed.push_back(member);
    terms.beside.push_back(member.node);
  }
  for (size_t i = 0; i < placements_.size(); ++i) {
    const cluster::Placement& one = placements_[i];
    if (!one.node.valid()) continue;
    if (is_in(demands_[i].subgroup)) terms.beside.push_back(one.node);
    terms.elsewhere.push_back(
        {one.node, demands_[i].spec, demands_[i].subgroup, cluster::WholeGpusOf(one)});
  }
  SortUnique(terms.beside);
  if (!is_gang) terms.wish = terms_.subgroups[group].wish;
  return terms;
}

// Of the answers that failed, the one that placed the most pods is reported.
void SubgroupSearch::Note(PlaceAnswer answer, size_t group, const WishedDomains& wished) {
  Shortage& shortage = answer.shortage;
  shortage.placed_before += placed_;
  if (any_ && shortage.placed_before <= nearest_.shortage.placed_before) return;
  any_ = true;
  if (group + 1 < groups_.size()) {
    shortage.subgroup = terms_.subgroups[group].name;
    shortage.domain = groups_[group].domain.name;
    shortage.limit = wished.limit;
    shortage.domains = wished.of;
  }
  nearest_ = std::move(answer);
}

bool SubgroupSearch::Chosen(size_t step) {
  State state = StateAt(step);
  if (failed_.contains(state)) return false;
  const size_t group = steps_[step].group;
  const size_t parent = std::min(terms_.subgroups[group].parent, groups_.size() - 1);
  const std::vector<Demand> demands = DemandsOf(groups_[group].all);
  const WishedDomains wished = ports_.domains(demands, TermsOf(group));
  bool any = false;
  const Domain outer = groups_[parent].domain;
  for (const Domain& named : wished.domains) {
    Domain domain = Within(outer, named);
    if (domain.nodes != nullptr && domain.nodes->count() == 0) continue;
    any = true;
    groups_[group].domain = std::move(domain);
    groups_[group].named = named;
    wished_[group] = wished;
    if (From(step + 1)) return true;
    if (left_ <= 0) return false;
  }
  failed_.insert(std::move(state));
  if (any) return false;
  // It may be nowhere.
  groups_[group].domain = {std::make_shared<const NodeSet>(), outer.name};
  Note(ports_.place(demands, TermsOf(group), groups_[group].domain), group, wished);
  return false;
}

bool SubgroupSearch::Placed(size_t step) {
  if (left_-- <= 0) return false;
  const size_t group = steps_[step].group;
  const std::vector<size_t>& own = groups_[group].own;
  const size_t before = tx_.checkpoint();
  PlaceAnswer answer = ports_.place(DemandsOf(own), TermsOf(group), groups_[group].domain);
  if (!answer.placed) {
    Note(std::move(answer), group, wished_[group]);
    return false;
  }
  for (size_t i = 0; i < own.size(); ++i) placements_[own[i]] = std::move(answer.placements[i]);
  placed_ += static_cast<int64_t>(own.size());
  if (From(step + 1)) return true;
  placed_ -= static_cast<int64_t>(own.size());
  for (const size_t i : own) placements_[i] = {};
  tx_.RollbackTo(before);
  return false;
}

bool SubgroupSearch::From(size_t step) {
  if (step == steps_.size()) return true;
  return steps_[step].chooses ? Chosen(step) : Placed(step);
}

PlaceAnswer SubgroupSearch::Run(const Domain& domain, int64_t& budget) {
  groups_.back().domain = domain;
  const auto once = static_cast<int64_t>(
      std::count_if(steps_.begin(), steps_.end(), [](const Step& step) { return !step.chooses; }));
  left_ = once + budget;
  if (From(0)) {
    PlaceAnswer answer;
    answer.placed = true;
    answer.placements = std::move(placements_);
    return answer;
  }
  nearest_.shortage.gave_up = left_ <= 0;
  budget = std::min(budget, std::max<int64_t>(left_, 0));
  return std::move(nearest_);
}

}  // namespace muster::policy
