#include "engine/reasons/domain_causes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/holdings/allocation.hpp"
#include "engine/reasons/cause_words.hpp"
#include "policy/gpu_links/device_links.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using topology::DomainId;
using topology::Fabric;
using topology::LevelRef;

namespace {

// The counts only: DomainOffer names the domain.
std::string CountsText(policy::Shortage shortage) {
  shortage.domain.clear();
  return NodesText(shortage, "have room");
}

// Each role has room by itself, and the gang does not fit.
std::string TogetherText(const policy::Shortage& shortage) {
  if (!shortage.subgroup.empty()) return "no room for subgroup " + shortage.subgroup;
  if (!shortage.segments.empty()) return "not in segments: " + shortage.segments;
  return "room for each role, not for all together: " + CountsText(shortage);
}

std::string NotThereText(const policy::PlaceAnswer& answer, bool fits) {
  return fits ? TogetherText(answer.shortage) : CountsText(answer.shortage);
}

std::string NameOf(const Fabric& fabric, const LevelRef& level) {
  return topology::LevelsOf(fabric.options().trees[level.tree])[level.level].name;
}

std::string Gbps(uint32_t megabytes) {
  const uint32_t tenths = megabytes % 1000 / 100;
  return std::to_string(megabytes / 1000) + (tenths == 0 ? "" : "." + std::to_string(tenths));
}

// Those with the most room first, as they lie in the fabric where that is equal.
void KeepMost(std::vector<DomainId>& ids, const std::vector<policy::DomainRoom>& rooms) {
  std::stable_sort(ids.begin(), ids.end(),
                   [&](DomainId a, DomainId b) { return rooms[a].members > rooms[b].members; });
  if (ids.size() > OfferedDomains::kMostOffers) ids.resize(OfferedDomains::kMostOffers);
}

// Of a level, those that these nodes are in.
std::set<DomainId> DomainsOf(const Fabric& fabric, const LevelRef& level,
                             const std::vector<NodeIndex>& nodes) {
  std::set<DomainId> ids;
  for (const NodeIndex node : nodes) ids.insert(fabric.Of(level, node));
  return ids;
}

bool Together(const Fabric& fabric, const LevelRef& level, const std::vector<NodeIndex>& nodes) {
  const std::set<DomainId> ids = DomainsOf(fabric, level, nodes);
  return ids.size() == 1 && *ids.begin() != topology::kNoDomain;
}

// Other members of a gang that waits have nodes in a domain: room is looked for in that one.
std::string ElsewhereText(const Fabric& fabric, DomainId id, const std::vector<NodeIndex>& beside) {
  if (beside.empty()) return {};
  const LevelRef level = fabric.domains()[id].level;
  const std::set<DomainId> there = DomainsOf(fabric, level, beside);
  if (there.contains(id) || *there.begin() == topology::kNoDomain) return {};
  return "its other members are in " + fabric.domains()[*there.begin()].name;
}

// The order in which domains are tried (policy/domains/fabric_wish.hpp), applied to two of one
// level: one that a gang is in and another one that would hold it.
class Comparison {
 public:
  Comparison(const LyingGang& gang, const policy::DomainOffers& offers,
             const policy::Options& options, const cluster::TopologyTerms& terms)
      : gang_(gang),
        offers_(offers),
        fabric_(offers.fabric()),
        terms_(terms),
        links_(options.profiles) {}

  std::string Why(DomainId own, DomainId other, const std::vector<cluster::Placement>& there) {
    std::vector<NodeIndex> nodes;
    nodes.reserve(there.size());
    for (const cluster::Placement& one : there) nodes.push_back(one.node);
    std::string text = ByLevel(own, nodes);
    if (text.empty()) text = BySpread(own, other);
    if (text.empty()) text = ByRing(own, other);
    if (text.empty()) text = ByLoss(own, other);
    if (text.empty()) text = ByRoom(own, other);
    return text.starts_with("slowest ring ") ? text : text + RingText(there);
  }

 private:
  // So many levels inside of the gang's own keep the nodes together; a single node one more.
  size_t Closeness(DomainId own, const std::vector<NodeIndex>& nodes) const {
    const LevelRef at = fabric_.domains()[own].level;
    const size_t levels = LevelsOf(fabric_.options().trees[at.tree]).size();
    const bool one = std::all_of(nodes.begin(), nodes.end(),
                                 [&](NodeIndex node) { return node == nodes.front(); });
    if (one) return levels;
    size_t close = at.level;
    for (size_t level = at.level + 1; level < levels; ++level) {
      const LevelRef inner{at.tree, level};
      if (fabric_.HasDomains(inner) && Together(fabric_, inner, nodes)) close = level;
    }
    return close;
  }
  std::string ByLevel(DomainId own, const std::vector<NodeIndex>& there) const {
    const LevelRef at = fabric_.domains()[own].level;
    const size_t levels = LevelsOf(fabric_.options().trees[at.tree]).size();
    const size_t here = Closeness(own, gang_.nodes);
    const size_t other = Closeness(own, there);
    if (here == other) return {};
    if (other > here) return "it would be closer together there now";
    if (here == levels) {
      const std::set<NodeIndex> nodes(there.begin(), there.end());
      return "on " + std::to_string(nodes.size()) + " nodes there, on one in its own";
    }
    const LevelRef crossed{at.tree, here};
    return "in " + std::to_string(DomainsOf(fabric_, crossed, there).size()) +
           " domains of level " + NameOf(fabric_, crossed) + " there, in one in its own";
  }

  int64_t GroupIn(DomainId id, const LevelRef& level) const {
    while (id != topology::kNoDomain && fabric_.domains()[id].level != level)
      id = fabric_.domains()[id].parent;
    if (id == topology::kNoDomain) return 0;
    const auto& others = offers_.request().terms.others;
    return std::count_if(others.begin(), others.end(), [&](const std::vector<NodeIndex>& nodes) {
      return std::any_of(nodes.begin(), nodes.end(),
                         [&](NodeIndex node) { return fabric_.Of(level, node) == id; });
    });
  }
  std::string BySpread(DomainId own, DomainId other) const {
    const LevelRef at = fabric_.domains()[own].level;
    for (const LevelRef& level : FindLevels(fabric_.options(), terms_.spread)) {
      if (level.tree != at.tree) continue;
      const LevelRef counted{at.tree, std::min(at.level, level.level)};
      const int64_t here = GroupIn(own, counted);
      const int64_t there = GroupIn(other, counted);
      if (here == there) continue;
      if (there < here) return "fewer gangs of its spread group are there now";
      return std::to_string(there) + (there == 1 ? " gang" : " gangs") +
             " of its spread group there, " + std::to_string(here) + " in its own";
    }
    return {};
  }

  std::string ByRing(DomainId own, DomainId other) const {
    const uint32_t here = offers_.rooms()[own].ring;
    const uint32_t there = offers_.rooms()[other].ring;
    if (here == there) return {};
    if (here < there) return "it would have faster rings there now";
    return "slowest ring " + Gbps(there) + " GB/s there, " + Gbps(here) + " in its own";
  }

  std::string ByLoss(DomainId own, DomainId other) const {
    const int order = offers_.CompareLosses(own, other);
    if (order == 0) return {};
    if (order > 0) return "others would lose less there now";
    const int64_t here = offers_.rooms()[own].opens;
    const int64_t there = offers_.rooms()[other].opens;
    if (here < there) {
      return "it would take " + std::to_string(there) +
             (there == 1 ? " free node" : " free nodes") + " there, " + std::to_string(here) +
             " in its own";
    }
    return "a larger set of free nodes would be broken there than in its own";
  }

  std::string ByRoom(DomainId own, DomainId other) const {
    const std::vector<policy::DomainRoom>& rooms = offers_.rooms();
    const char* around = "";
    DomainId a = own;
    DomainId b = other;
    while (a != b && a != topology::kNoDomain && b != topology::kNoDomain) {
      const int64_t here = rooms[a].spare;
      const int64_t there = rooms[b].spare;
      if (here > there) return std::string("it would fit there more tightly now") + around;
      if (here < there) {
        return "room for " + std::to_string(there) +
               (there == 1 ? " more member" : " more members") + " would be left there, for " +
               std::to_string(here) + " in its own" + around;
      }
      around = ", around it";
      a = fabric_.domains()[a].parent;
      b = fabric_.domains()[b].parent;
    }
    return own < other ? "as good as its own, which is before it by name"
                       : "as good as its own now";
  }

  // Of the plan there, whatever decides.
  std::string RingText(const std::vector<cluster::Placement>& placements) {
    std::optional<uint32_t> slowest;
    for (const cluster::Placement& one : placements) {
      const std::vector<cluster::GpuIndex> gpus = cluster::WholeGpusOf(one);
      const auto links = gpus.size() < 2 ? nullptr : links_.Of(offers_.node(one.node));
      const auto ring = links == nullptr ? std::nullopt : links->RingOver(gpus);
      if (ring) slowest = std::min(*ring, slowest.value_or(*ring));
    }
    if (!slowest || !gang_.slowest_ring || *slowest == *gang_.slowest_ring) return {};
    return "; slowest ring " + Gbps(*slowest) + " GB/s there, " + Gbps(*gang_.slowest_ring) +
           " in its own";
  }

  const LyingGang& gang_;
  const policy::DomainOffers& offers_;
  const Fabric& fabric_;
  const cluster::TopologyTerms& terms_;
  policy::LinksMemory links_;
};

// The level whose domains OthersThan reports for a gang that has nodes.
std::optional<LevelRef> LevelFor(const LyingGang& gang, const policy::DomainOffers& offers,
                                 const policy::Options& options,
                                 const cluster::TopologyTerms& terms) {
  const Fabric& fabric = offers.fabric();
  if (terms.within()) {
    for (const topology::LevelSpan& span : SpansOf(options.fabric, terms)) {
      const LevelRef level{span.tree, span.innermost};
      if (fabric.HasDomains(level)) return level;
    }
    return std::nullopt;
  }
  if (!terms.spread.empty()) {
    for (const LevelRef& level : FindLevels(options.fabric, terms.spread)) {
      if (fabric.HasDomains(level)) return level;
    }
  }
  const bool chosen =
      offers.request().terms.wish != nullptr || options.strategy == policy::Strategy::kBinpack;
  if (!chosen || gang.nodes.size() < 2) return std::nullopt;
  std::optional<LevelRef> found;
  const size_t levels = LevelsOf(options.fabric.trees.front()).size();
  for (LevelRef level{0, 0}; level.level < levels; ++level.level) {
    if (!fabric.HasDomains(level)) continue;
    if (!found || Together(fabric, level, gang.nodes)) found = level;
  }
  return found;
}

}  // namespace

OfferedDomains OffersTo(policy::DomainOffers& offers, const cluster::TopologyTerms& said) {
  const Fabric& fabric = offers.fabric();
  const cluster::TopologyTerms terms = Heeded(fabric.options(), said);
  OfferedDomains view;
  view.wanted = offers.wanted();
  std::vector<DomainId> ids;
  for (const topology::LevelSpan& span : SpansOf(fabric.options(), terms)) {
    const LevelRef level{span.tree, terms.required.empty() ? span.innermost : span.outermost};
    if (view.level.empty()) view.level = NameOf(fabric, level);
    const Fabric::Range range = fabric.At(level);
    for (DomainId id = range.first; id < range.last; ++id) ids.push_back(id);
  }
  view.domains = std::ssize(ids);
  KeepMost(ids, offers.rooms());
  for (const DomainId id : ids) {
    const policy::DomainRoom& room = offers.rooms()[id];
    DomainOffer offer{fabric.domains()[id].name, room.members, ""};
    offer.why = ElsewhereText(fabric, id, offers.request().terms.beside);
    if (offer.why.empty()) {
      const policy::PlaceAnswer answer = offers.In(id);
      offer.why = answer.placed ? "it would fit now" : NotThereText(answer, room.fits);
    }
    view.offers.push_back(std::move(offer));
  }
  return view;
}

OfferedDomains OthersThan(const LyingGang& gang, policy::DomainOffers& offers,
                          const policy::Options& options, const cluster::TopologyTerms& said) {
  const Fabric& fabric = offers.fabric();
  const cluster::TopologyTerms terms = Heeded(options.fabric, said);
  const std::optional<LevelRef> level = LevelFor(gang, offers, options, terms);
  OfferedDomains view;
  if (!level) return view;
  const std::set<DomainId> own = DomainsOf(fabric, *level, gang.nodes);
  std::vector<DomainId> ids;
  const Fabric::Range range = fabric.At(*level);
  for (DomainId id = range.first; id < range.last; ++id) {
    if (!own.contains(id)) ids.push_back(id);
  }
  view.level = NameOf(fabric, *level);
  view.wanted = offers.wanted();
  view.domains = std::ssize(ids);
  KeepMost(ids, offers.rooms());
  Comparison comparison(gang, offers, options, terms);
  for (const DomainId id : ids) {
    const policy::DomainRoom& room = offers.rooms()[id];
    DomainOffer offer{fabric.domains()[id].name, room.members, ""};
    const policy::PlaceAnswer answer = offers.In(id);
    if (!answer.placed) {
      offer.why = NotThereText(answer, room.fits);
    } else if (own.size() > 1 || own.contains(topology::kNoDomain)) {
      offer.why = "all members would be in it now";
    } else {
      offer.why = comparison.Why(*own.begin(), id, answer.placements);
    }
    view.offers.push_back(std::move(offer));
  }
  return view;
}

}  // namespace muster::engine
