#include "policy/domains/fabric_wish.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "policy/domains/fragmentation.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using topology::DomainId;
using topology::Fabric;
using topology::FabricDomain;
using topology::LevelRef;

namespace {

struct DomainCandidate {
  DomainId id = 0;
  int64_t beside = 0;  // how many of those are in it
  int64_t preferred = 0;
  int64_t others = 0;  // gangs of the spread group
  const DomainRoom* room = nullptr;
};

// Which of two has less room left over, itself or else the domains around it: below 0, 0, above 0.
// Where those are equal as far as they go, the one with more domains around it comes first.
int CompareSpare(const Surroundings& around, DomainId a, DomainId b) {
  while (a != b) {
    if (a == topology::kNoDomain || b == topology::kNoDomain)
      return a == topology::kNoDomain ? 1 : -1;
    const int64_t one = around.room[a].spare;
    const int64_t other = around.room[b].spare;
    if (one != other) return one < other ? -1 : 1;
    a = around.fabric.domains()[a].parent;
    b = around.fabric.domains()[b].parent;
  }
  return 0;
}

// Where members are already; where they are nominated; where the fewest gangs of the spread group
// are; where the rings are fastest; what others lose least by; where the least room is left.
bool Before(const Surroundings& around, const DomainCandidate& a, const DomainCandidate& b) {
  if (a.beside != b.beside) return a.beside > b.beside;
  if (a.preferred != b.preferred) return a.preferred > b.preferred;
  if (a.others != b.others) return a.others < b.others;
  if (a.room->ring != b.room->ring) return a.room->ring > b.room->ring;
  const int losses = around.losses.Compare({a.id, a.room->opens}, {b.id, b.room->opens});
  if (losses != 0) return losses < 0;
  const int spare = CompareSpare(around, a.id, b.id);
  return spare != 0 ? spare < 0 : a.id < b.id;
}

// How many of the nodes are in each domain of the level. Empty: there are no nodes.
std::vector<int64_t> CountIn(const Fabric& fabric, const LevelRef& level,
                             const std::vector<NodeIndex>& nodes) {
  if (nodes.empty()) return {};
  const Fabric::Range range = fabric.At(level);
  std::vector<int64_t> counts(range.last - range.first);
  for (const NodeIndex node : nodes) {
    const DomainId id = fabric.Of(level, node);
    if (id != Fabric::kNone) ++counts[id - range.first];
  }
  return counts;
}

// How many of the gangs are in each domain of the level.
std::vector<int64_t> CountGangsIn(const Fabric& fabric, const LevelRef& level,
                                  const std::vector<std::vector<NodeIndex>>& gangs) {
  const Fabric::Range range = fabric.At(level);
  std::vector<int64_t> counts(range.last - range.first);
  std::vector<DomainId> domains;
  for (const std::vector<NodeIndex>& nodes : gangs) {
    domains.clear();
    for (const NodeIndex node : nodes) {
      const DomainId id = fabric.Of(level, node);
      if (id != Fabric::kNone) domains.push_back(id);
    }
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    for (const DomainId id : domains) ++counts[id - range.first];
  }
  return counts;
}

// Of the spread group's gangs those that count for a domain of `at`.
class Crowd {
 public:
  Crowd(const Surroundings& around, const LevelRef& at, const std::string& spread)
      : fabric_(around.fabric) {
    for (const LevelRef& level : FindLevels(fabric_.options(), spread)) {
      if (level.tree != at.tree || around.others.empty()) continue;
      level_ = {at.tree, std::min(at.level, level.level)};
      counts_ = CountGangsIn(fabric_, level_, around.others);
    }
  }
  int64_t At(DomainId id) const {
    if (counts_.empty()) return 0;
    while (id != topology::kNoDomain && fabric_.domains()[id].level != level_)
      id = fabric_.domains()[id].parent;
    return id == topology::kNoDomain ? 0 : counts_[id - fabric_.At(level_).first];
  }

 private:
  const Fabric& fabric_;
  LevelRef level_;
  std::vector<int64_t> counts_;  // empty: none counts
};

// The domains of those levels, one of each tree at most. Where anybody is beside: theirs.
std::vector<DomainCandidate> CandidatesAt(const Surroundings& around,
                                          const std::vector<LevelRef>& levels,
                                          const std::string& spread) {
  std::vector<DomainCandidate> candidates;
  for (const LevelRef& level : levels) {
    const Fabric::Range range = around.fabric.At(level);
    const std::vector<int64_t> beside = CountIn(around.fabric, level, around.beside);
    const std::vector<int64_t> preferred = CountIn(around.fabric, level, around.preferred);
    const Crowd crowd(around, level, spread);
    candidates.reserve(candidates.size() + range.last - range.first);
    for (DomainId id = range.first; id < range.last; ++id) {
      const size_t i = id - range.first;
      const int64_t here = beside.empty() ? 0 : beside[i];
      if (!beside.empty() && here == 0) continue;
      candidates.push_back(
          {id, here, preferred.empty() ? 0 : preferred[i], crowd.At(id), &around.room[id]});
    }
  }
  return candidates;
}

Domain DomainOf(const Fabric& fabric, DomainId id) {
  const FabricDomain& domain = fabric.domains()[id];
  return {domain.nodes, domain.name, domain.level.tree, id};
}

std::vector<DomainId> ThoseWithRoom(const Surroundings& around,
                                    std::vector<DomainCandidate> candidates, size_t most) {
  std::erase_if(candidates, [](const DomainCandidate& one) { return !one.room->fits; });
  const auto kept = static_cast<std::ptrdiff_t>(std::min(most, candidates.size()));
  std::partial_sort(
      candidates.begin(), candidates.begin() + kept, candidates.end(),
      [&](const DomainCandidate& a, const DomainCandidate& b) { return Before(around, a, b); });
  candidates.resize(static_cast<size_t>(kept));
  std::vector<DomainId> ids;
  ids.reserve(candidates.size());
  for (const DomainCandidate& one : candidates) ids.push_back(one.id);
  return ids;
}

std::string TextOf(const cluster::TopologyTerms& terms) {
  std::string text;
  for (const cluster::TopologySegment& segment : terms.segments) {
    if (!segment.required) continue;
    text += (text.empty() ? "of " : ", of ") + std::to_string(segment.size) +
            " in one domain of level " + segment.level;
  }
  return text;
}

// Where no node is in a domain of a required segment's level nobody can be.
bool NoneHasLevels(const Fabric& fabric, const cluster::TopologyTerms& terms, size_t tree) {
  return std::any_of(terms.segments.begin(), terms.segments.end(),
                     [&](const cluster::TopologySegment& segment) {
                       if (!segment.required) return false;
                       for (const LevelRef& level : FindLevels(fabric.options(), segment.level)) {
                         const Fabric::Range range = fabric.At(level);
                         if (level.tree == tree && range.first == range.last) return true;
                       }
                       return false;
                     });
}

// In which levels of which trees it is tried.
std::vector<topology::LevelSpan> SpansFor(const topology::FabricOptions& fabric,
                                          const cluster::TopologyTerms& terms) {
  std::vector<topology::LevelSpan> spans = SpansOf(fabric, terms);
  if (terms.within() || spans.empty()) return spans;
  const size_t levels = LevelsOf(fabric.trees[spans.front().tree]).size();
  spans.resize(std::min<size_t>(levels, 1));
  if (levels > 0) spans.front().innermost = levels - 1;
  return spans;
}

// The levels that are tried as one: of each tree at most one.
struct Step {
  std::vector<LevelRef> levels;
  bool outermost = false;  // one of them is the outermost of its tree that may be
};

// From the innermost to the outermost. The wished levels of all trees are in one step, those so
// many levels further in or out in another. `inside`: those inside of the wished ones too.
std::vector<Step> StepsOf(const topology::FabricOptions& fabric,
                          const std::vector<topology::LevelSpan>& spans, bool inside) {
  std::map<int64_t, Step> steps;  // by how far out of the wished level
  for (const topology::LevelSpan& span : spans) {
    const size_t end = inside ? LevelsOf(fabric.trees[span.tree]).size() : span.innermost + 1;
    for (size_t level = span.outermost; level < end; ++level) {
      Step& step = steps[static_cast<int64_t>(span.innermost) - static_cast<int64_t>(level)];
      step.levels.push_back({span.tree, level});
      step.outermost = step.outermost || level == span.outermost;
    }
  }
  std::vector<Step> all;
  all.reserve(steps.size());
  for (auto& [out, step] : steps) all.push_back(std::move(step));
  return all;
}

// Those that could hold all of it, where that is not against spreading it: with most room taken.
std::vector<Domain> SingleNodes(const Surroundings& around, const cluster::TopologyTerms& terms,
                                const std::vector<topology::LevelSpan>& spans) {
  std::vector<Domain> domains;
  if (spans.empty() || (!terms.spread.empty() && !around.others.empty())) return domains;
  struct Candidate {
    NodeRoom room;
    bool preferred = false;
    size_t tree = 0;
    DomainId id = topology::kNoDomain;
    size_t lacks = 0;   // so many levels of the tree it is in no domain of
    int64_t opens = 0;  // 1: all of its GPUs are free
  };
  std::vector<Candidate> candidates;
  const cluster::FreeTable& free = around.nodes.free();
  for (const NodeRoom& room : around.single_nodes) {
    const auto span = std::find_if(spans.begin(), spans.end(), [&](const topology::LevelSpan& one) {
      return terms.required.empty() ||
             around.fabric.Of({one.tree, one.outermost}, room.node) != Fabric::kNone;
    });
    if (span == spans.end()) continue;
    Candidate one{room};
    one.preferred = std::find(around.preferred.begin(), around.preferred.end(), room.node) !=
                    around.preferred.end();
    one.tree = span->tree;
    one.id = around.fabric.Innermost(span->tree, room.node);
    const size_t levels = around.fabric.InnermostLevel(one.tree) + 1;
    one.lacks =
        one.id == Fabric::kNone ? levels : levels - 1 - around.fabric.domains()[one.id].level.level;
    const size_t gpus = free.gpus(room.node).size();
    one.opens = gpus > 0 && static_cast<size_t>(free.at(room.node).gpu_whole) == gpus ? 1 : 0;
    const bool innermost =
        one.id != Fabric::kNone && around.fabric.domains()[one.id].children.empty();
    if (innermost || terms.segments.empty()) candidates.push_back(one);
  }
  const auto before = [&](const Candidate& a, const Candidate& b) {
    if (a.preferred != b.preferred) return a.preferred;
    if (a.lacks != b.lacks) return a.lacks < b.lacks;
    if (a.room.ring != b.room.ring) return a.room.ring > b.room.ring;
    if (a.room.spare != b.room.spare) return a.room.spare < b.room.spare;
    if (const int losses = around.losses.Compare({a.id, a.opens}, {b.id, b.opens}); losses != 0)
      return losses < 0;
    if (const int spare = CompareSpare(around, a.id, b.id); spare != 0) return spare < 0;
    return a.tree != b.tree ? a.tree < b.tree
                            : around.fabric.Compare(a.tree, a.room.node, b.room.node) < 0;
  };
  const size_t most = std::min(FabricWish::kMostNodes, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(most),
                    candidates.end(), before);
  candidates.resize(most);
  domains.reserve(most);
  for (const Candidate& one : candidates) {
    auto nodes = std::make_shared<cluster::NodeSet>();
    nodes->Add(one.room.node);
    domains.push_back(
        {std::move(nodes), around.nodes.node(one.room.node)->name, one.tree, one.id, false});
  }
  return domains;
}

// Outside of the outermost segments: there all of them are seen, also the one that lacks a member.
bool IsAroundSegments(const topology::FabricOptions& fabric, const cluster::TopologyTerms& terms,
                      const LevelRef& level) {
  const std::vector<LevelRef> levels = FindLevels(fabric, terms.segments.front().level);
  return std::any_of(levels.begin(), levels.end(), [&](const LevelRef& one) {
    return one.tree == level.tree && level.level < one.level;
  });
}

void AppendSegments(std::string& key, const std::vector<cluster::TopologySegment>& segments) {
  for (const cluster::TopologySegment& segment : segments) {
    key += (segment.required ? " required " : " preferred ") + segment.level + "=" +
           std::to_string(segment.size);
  }
}

}  // namespace

std::string FabricWish::Key() const {
  std::string key = "required=" + terms_.required + " preferred=" + terms_.preferred;
  AppendSegments(key, terms_.segments);
  if (!terms_.segments.empty() && said_by_ == SaidBy::kPods) key += " by pods";
  if (terms_.balance == cluster::Balance::kPack) key += " packed";
  if (!terms_.spread.empty()) key += " spread=" + terms_.spread;
  for (const cluster::TopologySubgroup& subgroup : terms_.subgroups) {
    key += " subgroup";
    for (const std::string& role : subgroup.roles) key += " " + role;
    key += " required=" + subgroup.required + " preferred=" + subgroup.preferred;
    AppendSegments(key, subgroup.segments);
  }
  return terms_.said_by.empty() ? key : key + " for another system";
}

WishedDomains FabricWish::Domains(const Surroundings& around) const {
  const cluster::TopologyTerms terms = Heeded(around.fabric.options(), terms_);
  WishedDomains wished;
  std::vector<topology::LevelSpan> spans = SpansFor(around.fabric.options(), terms);
  std::erase_if(spans, [&](const topology::LevelSpan& span) {
    return NoneHasLevels(around.fabric, terms, span.tree);
  });
  const auto add = [&](Domain domain) {
    domain.packed = terms.balance == cluster::Balance::kPack;
    if (!terms.segments.empty() && domain.tree) {
      domain.segments = {MultiplesOf(around.fabric.options(), terms, *domain.tree),
                         said_by_ == SaidBy::kPods, TextOf(terms)};
    }
    wished.domains.push_back(std::move(domain));
  };
  std::vector<DomainCandidate> may_be;  // of the required level
  if (!terms.required.empty()) {
    wished.limit = terms.required;
    std::vector<LevelRef> outermost;
    outermost.reserve(spans.size());
    for (const topology::LevelSpan& span : spans) outermost.push_back({span.tree, span.outermost});
    may_be = CandidatesAt(around, outermost, terms.spread);
    int64_t most = 0;
    for (const DomainCandidate& one : may_be) most = std::max(most, one.beside);
    std::erase_if(may_be, [&](const DomainCandidate& one) { return one.beside < most; });
    wished.of = static_cast<int64_t>(may_be.size());
  }
  for (Domain& node : SingleNodes(around, terms, spans)) add(std::move(node));
  const bool joins_segments = !around.beside.empty() && !terms.segments.empty();
  for (Step step : StepsOf(around.fabric.options(), spans, around.beside.empty())) {
    const bool required = !terms.required.empty() && step.outermost;
    if (joins_segments && !required) {
      std::erase_if(step.levels, [&](const LevelRef& level) {
        return !IsAroundSegments(around.fabric.options(), terms, level);
      });
    }
    for (const DomainId id : ThoseWithRoom(around, CandidatesAt(around, step.levels, terms.spread),
                                           required ? SIZE_MAX : kMostTries))
      add(DomainOf(around.fabric, id));
  }
  if (terms.required.empty()) {
    Domain all;
    if (!spans.empty()) all.tree = spans.front().tree;
    if (all.tree || TextOf(terms).empty()) add(std::move(all));
  } else if (wished.domains.empty() && !may_be.empty()) {
    const auto nearest = std::min_element(
        may_be.begin(), may_be.end(), [](const DomainCandidate& a, const DomainCandidate& b) {
          return std::tuple(-a.room->members, a.id) < std::tuple(-b.room->members, b.id);
        });
    add(DomainOf(around.fabric, nearest->id));
  }
  return wished;
}

std::vector<Subgroup> FabricWish::Subgroups(const topology::FabricOptions& fabric) const {
  const cluster::TopologyTerms heeded = Heeded(fabric, terms_);
  std::vector<Subgroup> wished;
  wished.reserve(heeded.subgroups.size());
  for (const cluster::TopologySubgroup& subgroup : heeded.subgroups) {
    cluster::TopologyTerms terms = topology::TermsOf(subgroup, heeded.said_by);
    Subgroup one{subgroup.name, subgroup.roles, Subgroup::kNone,
                 std::make_shared<const FabricWish>(std::move(terms))};
    for (size_t i = 0; i < wished.size(); ++i) {
      if (std::includes(wished[i].roles.begin(), wished[i].roles.end(), one.roles.begin(),
                        one.roles.end()))
        one.parent = i;  // the last one is the innermost
    }
    for (const LevelRef& level : FindLevels(fabric, subgroup.required))
      one.level = std::max(one.level, static_cast<int64_t>(level.level));
    wished.push_back(std::move(one));
  }
  return wished;
}

std::shared_ptr<const Wish> UsualWish(const topology::FabricOptions& fabric) {
  if (fabric.trees.empty()) return nullptr;
  const topology::FabricTree& first = fabric.trees.front();
  const std::vector<topology::FabricLevel> levels = LevelsOf(first);
  if (levels.empty()) return nullptr;
  return std::make_shared<const FabricWish>(
      cluster::TopologyTerms{"", first.name + "/" + levels.back().name});
}

const cluster::TopologyTerms& TermsOf(const cluster::PodGroup* group, const cluster::Pod& member) {
  return group != nullptr && !group->topology.none() ? group->topology : member.spec->topology;
}

std::shared_ptr<const Wish> FabricWishes::Of(const cluster::PodGroup* group,
                                             const cluster::Pod& member) const {
  const cluster::TopologyTerms& terms = TermsOf(group, member);
  if (!terms.places()) return nullptr;
  const bool by_group = group != nullptr && &terms == &group->topology;
  return std::make_shared<const FabricWish>(
      terms, by_group ? FabricWish::SaidBy::kGroup : FabricWish::SaidBy::kPods);
}

}  // namespace muster::policy
