#include "engine/cycle/moves.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "cluster/holdings/transaction.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/rank.hpp"
#include "engine/judging/request.hpp"
#include "engine/standing/standing_state.hpp"
#include "policy/search/pod_shape.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using cluster::PodSpec;
using cluster::PodUid;
using cluster::Time;
using topology::DomainId;
using topology::Fabric;
using topology::LevelRef;

namespace {

// Positions among MoveJob::members, rising.
using Chosen = std::vector<size_t>;

bool Alike(const PodSpec& a, const PodSpec& b) { return policy::CompareShapes(a, b) == 0; }

// Of one role and one layer of segments: whose segments lack somebody, by the ranks of the lost.
class Role {
 public:
  Role(const MoveJob& job, const std::vector<policy::Demand>& lost, const PodSpec& spec,
       size_t subgroup, int64_t size) {
    std::vector<std::pair<uint32_t, bool>> ranks;  // and whether it is lost
    for (size_t i = 0; i < lost.size(); ++i) {
      if (lost[i].subgroup == subgroup && Alike(*lost[i].spec, spec))
        ranks.emplace_back(lost[i].rank, true);
    }
    for (const Movable& member : job.members) {
      if (member.demand.subgroup == subgroup && Alike(*member.demand.spec, spec))
        ranks.emplace_back(member.demand.rank, false);
    }
    std::sort(ranks.begin(), ranks.end());
    for (size_t i = 0; i < ranks.size(); ++i) {
      const int64_t segment = static_cast<int64_t>(i) / size;
      segment_of_[ranks[i].first] = segment;
      if (ranks[i].second) lacking_.insert(segment);
    }
  }
  bool Lacks(uint32_t rank) const { return lacking_.contains(segment_of_.at(rank)); }

 private:
  std::map<uint32_t, int64_t> segment_of_;  // by rank
  std::set<int64_t> lacking_;
};

// Of every role that lost somebody in the subgroup the members that make up no whole segment in
// their domain of the level: those of partial segments of elastic members too, which could not stay
// partial beside them. Of those of a domain the ones that have the ranks of a segment that lost
// one, then the last ones.
Chosen Partial(const Fabric& fabric, const LevelRef& level, int64_t size, size_t subgroup,
               const PlanJob& job) {
  Chosen chosen;
  std::vector<const PodSpec*> roles;
  for (const policy::Demand& demand : job.request.required) {
    if (job.move.by_pods && demand.spec->topology.segments.empty()) continue;
    if (demand.subgroup != subgroup) continue;
    const bool known = std::any_of(roles.begin(), roles.end(),
                                   [&](const PodSpec* spec) { return Alike(*spec, *demand.spec); });
    if (!known) roles.push_back(demand.spec.get());
  }
  for (const PodSpec* spec : roles) {
    const Role role(job.move, job.request.required, *spec, subgroup, size);
    std::map<DomainId, int64_t> there;
    for (const policy::PlacedMember& member : job.request.terms.placed) {
      if (member.subgroup == subgroup && Alike(*member.spec, *spec))
        ++there[fabric.Of(level, member.node)];
    }
    for (const auto& [domain, count] : there) {
      Chosen of;
      for (size_t i = 0; i < job.move.members.size(); ++i) {
        const Movable& member = job.move.members[i];
        if (member.demand.subgroup == subgroup && Alike(*member.demand.spec, *spec) &&
            fabric.Of(level, member.held.node) == domain)
          of.push_back(i);
      }
      std::sort(of.begin(), of.end(), [&](size_t a, size_t b) {
        const uint32_t first = job.move.members[a].demand.rank;
        const uint32_t second = job.move.members[b].demand.rank;
        return std::tuple(!role.Lacks(first), second) < std::tuple(!role.Lacks(second), first);
      });
      const auto rest = static_cast<size_t>(count % size);
      if (rest > of.size()) return {};  // some are not Muster's to move
      chosen.insert(chosen.end(), of.begin(), of.begin() + static_cast<std::ptrdiff_t>(rest));
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Who moves together, and what they are, for people.
struct Choice {
  Chosen members;
  std::string part;
};

// A subgroup that lost somebody, or those in none: of whom more and more move.
using Widening = std::vector<Choice>;

// In the order in which they are tried; no choice twice.
class Choices {
 public:
  Choices(const Fabric& fabric, const PlanJob& job) : fabric_(fabric), job_(job) {}

  std::vector<Widening> All() {
    const cluster::TopologyTerms terms = Heeded(fabric_.options(), job_.move.topology);
    if (job_.move.whole) return {};
    for (size_t i = terms.subgroups.size(); i-- > 0;) {
      all_.emplace_back();
      AddSubgroup(i, terms.subgroups[i]);
    }
    all_.emplace_back();
    AddSegments(policy::Subgroup::kNone, terms);
    std::erase_if(all_, [](const Widening& one) { return one.empty(); });
    return std::move(all_);
  }

 private:
  void Add(Chosen chosen, std::string part) {
    const bool known = std::any_of(all_.begin(), all_.end(), [&](const Widening& one) {
      return std::any_of(one.begin(), one.end(),
                         [&](const Choice& choice) { return choice.members == chosen; });
    });
    if (!chosen.empty() && !known) all_.back().push_back({std::move(chosen), std::move(part)});
  }

  void AddSegments(size_t subgroup, const cluster::TopologyTerms& terms) {
    std::vector<cluster::TopologySegment> segments = terms.segments;
    std::erase_if(segments,
                  [](const cluster::TopologySegment& segment) { return !segment.required; });
    std::sort(segments.begin(), segments.end(),
              [](const auto& a, const auto& b) { return a.size < b.size; });
    for (const topology::LevelSpan& span : SpansOf(fabric_.options(), terms)) {
      for (const cluster::TopologySegment& segment : segments) {
        for (const LevelRef& level : FindLevels(fabric_.options(), segment.level)) {
          if (level.tree == span.tree)
            Add(Partial(fabric_, level, segment.size, subgroup, job_), "segment");
        }
      }
    }
  }

  // Its segments, then all of it, if it lost somebody and has to be in one domain.
  void AddSubgroup(size_t subgroup, const cluster::TopologySubgroup& said) {
    AddSegments(subgroup, topology::TermsOf(said, job_.move.topology.said_by));
    const std::vector<policy::Subgroup>& subgroups = job_.request.terms.subgroups;
    const auto within = [&](size_t inner) {
      while (inner < subgroups.size() && inner != subgroup) inner = subgroups[inner].parent;
      return inner == subgroup;
    };
    const bool lost =
        std::any_of(job_.request.required.begin(), job_.request.required.end(),
                    [&](const policy::Demand& demand) { return within(demand.subgroup); });
    if (said.required.empty() || !lost) return;
    const auto there =
        std::count_if(job_.request.terms.placed.begin(), job_.request.terms.placed.end(),
                      [&](const policy::PlacedMember& member) { return within(member.subgroup); });
    Chosen chosen;
    for (size_t i = 0; i < job_.move.members.size(); ++i) {
      if (within(job_.move.members[i].demand.subgroup)) chosen.push_back(i);
    }
    if (std::ssize(chosen) == there)  // else some are not Muster's to move
      Add(std::move(chosen), "subgroup " + said.name);
  }

  const Fabric& fabric_;
  const PlanJob& job_;
  std::vector<Widening> all_;
};

// Those that stay where they are.
policy::GangTerms TermsWithout(const PlanJob& job, const Chosen& chosen) {
  policy::GangTerms terms = job.request.terms;
  for (const size_t i : chosen) {
    const Movable& member = job.move.members[i];
    const auto at = std::find_if(terms.placed.begin(), terms.placed.end(), [&](const auto& one) {
      return one.node == member.held.node && one.spec == member.demand.spec &&
             one.subgroup == member.demand.subgroup &&
             one.gpus == cluster::WholeGpusOf(member.held);
    });
    if (at != terms.placed.end()) terms.placed.erase(at);
  }
  terms.beside = policy::NodesOf(terms.placed);
  return terms;
}

// The innermost domain of the first tree in which they are all; empty: there is none.
std::string DomainOf(const Fabric& fabric, const std::vector<cluster::Placement>& placements) {
  if (fabric.options().trees.empty()) return {};
  const size_t levels = topology::LevelsOf(fabric.options().trees.front()).size();
  for (LevelRef level{0, levels}; level.level-- > 0;) {
    const DomainId domain = fabric.Of(level, placements.front().node);
    const bool all = std::all_of(placements.begin(), placements.end(), [&](const auto& one) {
      return fabric.Of(level, one.node) == domain;
    });
    if (domain != Fabric::kNone && all) return fabric.domains()[domain].name;
  }
  return {};
}

// Finds out who moves. Of one FindMove.
class Mover {
 public:
  Mover(policy::Placer& placer, const PlanJob& job)
      : placer_(placer), job_(job), fabric_(placer.FabricOf(job.snapshot->nodes())) {}

  std::optional<Move> Find() const {
    const std::vector<Widening> parts = Choices(*fabric_, job_).All();
    for (const Widening& part : parts) {
      for (const Choice& choice : part) {
        if (std::optional<Move> move = Try(choice.members, choice.part + " moves")) return move;
      }
    }
    if (std::optional<Move> move = Together(parts)) return move;
    if (job_.move.most != LostMember::kMoveGang) return std::nullopt;
    Chosen all(job_.move.members.size());
    std::iota(all.begin(), all.end(), 0);
    return Try(all, "");
  }

 private:
  // With room for them and for the lost ones; nothing: there is none. `who`: Move::part.
  std::optional<Move> Try(const Chosen& chosen, std::string who) const {
    cluster::Transaction tx(job_.snapshot);
    std::vector<policy::Demand> demands = job_.request.required;
    Move move;
    for (const size_t i : chosen) {
      const Movable& member = job_.move.members[i];
      tx.Evict(member.held, job_.request.terms.queue);
      move.leave.push_back(member.held);
      demands.push_back(member.demand);
      move.pods.push_back(member.demand.pod);
    }
    move.whole = chosen.size() == job_.move.members.size();
    move.part = std::move(who);
    policy::GangTerms terms = TermsWithout(job_, chosen);
    // Then nobody of it runs any more: it is a new gang.
    if (move.whole) terms.kept = placer_.KeptOf(*job_.snapshot, policy::NodeFilter::kSchedulable);
    terms.kept = cluster::Together(terms.kept, job_.shaped.shut);
    const policy::PlaceAnswer answer =
        placer_.PlaceGang(tx, demands, policy::NodeFilter::kSchedulable, terms);
    if (!answer.placed) return std::nullopt;
    std::sort(move.pods.begin(), move.pods.end());
    move.domain = DomainOf(*fabric_, answer.placements);
    move.take = answer.placements;
    return move;
  }

  // None of them alone makes room for the lost ones of the others: at first as many of each as may
  // move, then of one after the other, the outermost first, as few as will do.
  std::optional<Move> Together(const std::vector<Widening>& parts) const {
    if (parts.size() < 2) return std::nullopt;
    std::vector<size_t> widths;  // by part, how many of its choices are used up
    widths.reserve(parts.size());
    for (const Widening& part : parts) widths.push_back(part.size());
    std::optional<Move> found = TryWidths(parts, widths);
    for (size_t i = parts.size(); found && i-- > 0;) {
      const size_t most = widths[i];
      for (widths[i] = 0; widths[i] < most; ++widths[i]) {
        std::optional<Move> fewer = TryWidths(parts, widths);
        if (!fewer) continue;
        found = std::move(fewer);
        break;
      }
    }
    return found;
  }

  std::optional<Move> TryWidths(const std::vector<Widening>& parts,
                                const std::vector<size_t>& widths) const {
    std::set<size_t> members;
    std::vector<std::string> names;  // distinct
    for (size_t i = 0; i < parts.size(); ++i) {
      if (widths[i] == 0) continue;
      const Choice& choice = parts[i][widths[i] - 1];
      members.insert(choice.members.begin(), choice.members.end());
      if (std::find(names.begin(), names.end(), choice.part) == names.end())
        names.push_back(choice.part);
    }
    std::string who;
    for (const std::string& name : names) who += (who.empty() ? "" : " and ") + name;
    // Segments of several subgroups have one name.
    who += names.size() == 1 ? "s move" : " move";
    return Try({members.begin(), members.end()}, std::move(who));
  }

  policy::Placer& placer_;
  const PlanJob& job_;
  const std::shared_ptr<const Fabric> fabric_;
};

// It may go on without the lost ones, while a move may fail its owner.
bool DoesBetterWithout(const StandingState& state, const Gang& gang,
                       const cluster::PodGroup* group) {
  return group != nullptr && group->keeps_rest &&
         std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
           return entry.second.holds() && state.jobs.LosesByEviction(*entry.second.pod);
         });
}

bool MayGo(const StandingState& state, const Member& member) {
  return member.pod->bound_by_muster && state.preemptions.PreemptorOf(member.uid) == nullptr &&
         state.preemptions.ProtectionOf(member.uid) == nullptr && member.held() != nullptr;
}

}  // namespace

MoveJob MoveJobOf(const StandingState& state, const Gang& gang, const policy::GangRequest& request,
                  Time now) {
  const LostMember most = state.options.lost_member;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  if (Grows(gang, group) || DoesBetterWithout(state, gang, group)) return {};
  MoveJob job;
  const bool moves = most == LostMember::kMoveSegment || most == LostMember::kMoveGang;
  const bool early = gang.course.move_from && *gang.course.move_from > now;
  if (!moves || early || gang.course.repairing || gang.tally.planned + gang.tally.going > 0 ||
      request.required.empty() || !gang.past.has_run() || !AllThere(state, gang))
    return job;
  const Ranks ranks = RanksOfLive(gang);
  for (const auto& [uid, member] : gang.members) {
    const auto rank = ranks.find(&member);
    if (rank == ranks.end() || !member.ours || !member.holds()) continue;
    if (!MayGo(state, member)) return {};  // the gang cannot be taken apart now
    Movable movable{DemandOf(state, request.terms, member, now), member.held()->placement};
    movable.demand.preferred = {};
    movable.demand.rank = rank->second;
    job.members.push_back(std::move(movable));
  }
  job.topology = TopologyOf(state, gang);
  job.by_pods = group == nullptr || group->topology.none();
  job.most = most;
  job.whole = gang.terms.whole;
  return job;
}

std::optional<Move> FindMove(policy::Placer& placer, const PlanJob& job) {
  if (job.move.most == LostMember::kWait || job.move.members.empty()) return std::nullopt;
  return Mover(placer, job).Find();
}

bool StillHolds(StandingState& state, const PlanJob& job, const Move& move) {
  const std::shared_ptr<const cluster::Snapshot> now = state.cluster.TakeSnapshot();
  if (now->layout() != job.snapshot->layout()) return false;
  if (now->generation() == job.snapshot->generation()) return true;
  cluster::Transaction tx(now);
  for (const cluster::Placement& held : move.leave) {
    const cluster::Allocation* holds = state.cluster.AllocationOf(held.pod);
    if (holds == nullptr || !(holds->placement == held)) return false;
    tx.Evict(held, job.request.terms.queue);
  }
  for (const cluster::Placement& one : move.take) {
    if (!tx.free().Fits(*tx.node(one.node), one)) return false;
    tx.Place(one, job.request.terms.queue);
  }
  return true;
}

void BeginMove(StandingState& state, Gang& gang, const Move& move, Time now) {
  std::string detail = move.whole ? "the whole gang moves" : "their " + move.part;
  if (!move.domain.empty()) detail += " to " + move.domain;
  detail += ", pods evicted for that: " + std::to_string(move.pods.size());
  const Reason why = Because(ReasonCode::kMoving, gang.tally.bound + gang.tally.succeeded,
                             gang.minimum.members, std::move(detail));
  state.announcer.Tell(gang, true, "GangMoves", Describe(why));
  std::set<PodUid> pods;
  if (!move.whole) pods.insert(move.pods.begin(), move.pods.end());
  gang.course.BeginMove(why, std::move(pods), state.options, now);
  state.work.Touch(gang);
}

}  // namespace muster::engine
