#include "engine/explain/least_changes.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "cluster/holdings/transaction.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"
#include "engine/judging/shape_rules.hpp"
#include "engine/reasons/room_changes.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

using What = LeastChange::What;

constexpr size_t kMostNames = 5;

std::string Count(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

int64_t GpuMilli(const policy::Candidate& holder) {
  int64_t milli = 0;
  for (const cluster::Placement& held : holder.held) {
    for (const cluster::GpuShare& share : held.gpus) milli += share.taken.most().value();
  }
  return milli;
}

// What its reason says, where that is not room.
std::optional<LeastChange> SaidByReason(const Reason& reason) {
  const int64_t lack = reason.need - reason.have;
  switch (reason.code) {
    case ReasonCode::kWaitingForMembers:
      return LeastChange{
          What::kMembers,
          Count(lack, "more pod") + " of it " + (lack == 1 ? "is" : "are") + " created", lack};
    case ReasonCode::kHold:
      return LeastChange{What::kHold, "its queue starts gangs again: " + reason.detail};
    case ReasonCode::kQueueLimit:
    case ReasonCode::kQueueGuarantee:
      return LeastChange{What::kQueue, std::to_string(lack) + " less is in use there, or " +
                                           std::to_string(lack) + " more may be: " + reason.detail};
    default:
      return std::nullopt;
  }
}

// Those that hold GPUs, but for the gang itself and what leaves anyway.
void AddHolders(const ClaimState& state, const Gang& gang, ChangesJob& job) {
  for (const auto& [id, other] : state.members.gangs()) {
    // Most gangs wait: their members are not looked at, because all calls are held up meanwhile.
    if (id == gang.id || other.tally.bound == 0) continue;
    policy::Candidate holder;
    holder.owner = job.holders.size();
    holder.queue = QueueOf(other);
    for (const auto& [uid, member] : other.members) {
      if (!member.holds() || member.leaving()) continue;
      if (const cluster::Allocation* held = member.held()) holder.held.push_back(held->placement);
    }
    if (holder.held.empty() || GpuMilli(holder) == 0) continue;
    job.holders.push_back(std::move(holder));
    job.names.push_back(id.key.ToString());
  }
}

struct Ends {
  std::vector<std::string> names;
  int64_t gpu_milli = 0;
};

std::optional<Ends> EndsInOrder(policy::Placer& placer, const ChangesJob& job,
                                const std::vector<size_t>& order) {
  std::vector<policy::Candidate> holders;
  holders.reserve(order.size());
  for (const size_t i : order) holders.push_back(job.holders[i]);
  const policy::PreemptionAnswer answer = policy::PlaceByPreemption(
      placer, {job.snapshot, nullptr, holders}, job.request.required, job.request.terms);
  if (!answer.placed) return std::nullopt;
  Ends ends;
  for (const size_t victim : answer.victims) {
    ends.names.push_back(job.names[order[victim]]);
    ends.gpu_milli += GpuMilli(job.holders[order[victim]]);
  }
  std::sort(ends.names.begin(), ends.names.end());
  return ends;
}

std::string Describe(const Ends& ends) {
  std::string text = ends.names.size() == 1 ? "gang " : "gangs ";
  for (size_t i = 0; i < std::min(ends.names.size(), kMostNames); ++i)
    text += (i == 0 ? "" : ", ") + ends.names[i];
  if (ends.names.size() > kMostNames)
    text += " and " + std::to_string(ends.names.size() - kMostNames) + " more";
  const std::string gpus = queues::ShowAmount({queues::Resource::Kind::kGpu}, ends.gpu_milli);
  return text + (ends.names.size() == 1 ? " ends" : " end") + " (" + gpus + " GPUs)";
}

// The fewest gangs, then the fewest GPUs, of two ways to look for them.
std::optional<LeastChange> FindEnds(policy::Placer& placer, const ChangesJob& job) {
  std::vector<size_t> order(job.holders.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<int64_t> gpus;
  for (const policy::Candidate& holder : job.holders) gpus.push_back(GpuMilli(holder));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return gpus[a] < gpus[b]; });
  std::optional<Ends> least = EndsInOrder(placer, job, order);
  if (!least) return std::nullopt;
  std::reverse(order.begin(), order.end());
  const std::optional<Ends> other = EndsInOrder(placer, job, order);
  const auto key = [](const Ends& ends) { return std::pair(ends.names.size(), ends.gpu_milli); };
  if (other && key(*other) < key(*least)) least = other;
  if (least->names.empty()) return std::nullopt;  // it fits, and waits for its turn
  return LeastChange{What::kEnds, Describe(*least), 0, least->gpu_milli, {}, {}, least->names};
}

bool Fits(policy::Placer& placer, const ChangesJob& job, size_t members) {
  cluster::Transaction tx(job.snapshot);
  const std::vector<policy::Demand>& all = job.request.required;
  const std::vector<policy::Demand> some(all.begin(),
                                         all.begin() + static_cast<std::ptrdiff_t>(members));
  return placer.PlaceGang(tx, some, policy::NodeFilter::kSchedulable, job.request.terms).placed;
}

std::optional<LeastChange> FindFewer(policy::Placer& placer, const ChangesJob& job) {
  const size_t all = job.request.required.size();
  if (!job.may_shrink || all < 2) return std::nullopt;
  size_t fits = 0;
  size_t fails = all;
  while (fits + 1 < fails) {
    const size_t middle = fits + (fails - fits) / 2;
    (Fits(placer, job, middle) ? fits : fails) = middle;
  }
  if (fits == 0 || (fits + 1 == all && Fits(placer, job, all))) return std::nullopt;
  const auto members = static_cast<int64_t>(fits);
  return LeastChange{
      What::kFewer,
      "it asks for " + Count(members, "member") + " in place of " + std::to_string(all), members};
}

LeastChange ChangeOf(What what, RoomChange found) {
  return {what,
          std::move(found.text),
          0,
          found.gpus * 1000,
          std::move(found.nodes),
          std::move(found.taints),
          {}};
}

// As when it is planned: not where lost members' room is kept, nor on what is closed to it.
void CloseNodes(policy::Placer& placer, ChangesJob& job) {
  std::shared_ptr<const cluster::NodeSet>& kept = job.request.terms.kept;
  if (!job.request.terms.replaces)
    kept = placer.KeptOf(*job.snapshot, policy::NodeFilter::kSchedulable);
  kept = cluster::Together(kept, job.closed);
}

}  // namespace

const char* ToString(What what) {
  switch (what) {
    case What::kMembers:
      return "members";
    case What::kHold:
      return "hold";
    case What::kQueue:
      return "queue";
    case What::kFree:
      return "free";
    case What::kTolerate:
      return "tolerate";
    case What::kNodes:
      return "nodes";
    case What::kEnds:
      return "ends";
    case What::kFewer:
      return "fewer";
  }
  return "";
}

ChangesJob RoomJobOf(ClaimState& state, const Gang& gang, Time now) {
  ChangesJob job;
  const bool for_room = gang.pending() && !gang.members.empty() &&
                        (gang.state == GangState::kQueued || gang.state == GangState::kBackoff ||
                         gang.state == GangState::kUnsatisfiable);
  if (!for_room) return job;
  job.request = RequestOf(state, gang, now);
  if (job.request.required.empty()) return job;
  job.placement = state.options.placement;
  job.snapshot = Without(state, KeptOff(state, gang, now));
  job.closed = cluster::Together(ClosedTo(state, gang).nodes, ShapedFor(state, gang).shut);
  const cluster::TopologyTerms& terms = TopologyOf(state, gang);
  job.may_shrink = gang.tally.bound_of_muster == 0 && !gang.running() &&
                   gang.minimum.roles.empty() && terms.segments.empty() && terms.subgroups.empty();
  return job;
}

ChangesJob ChangesJobOf(ClaimState& state, const Gang& gang, Time now) {
  if (auto change = SaidByReason(gang.reason)) {
    ChangesJob job;
    job.known.push_back(*std::move(change));
    return job;
  }
  ChangesJob job = RoomJobOf(state, gang, now);
  if (!job.request.required.empty()) AddHolders(state, gang, job);
  return job;
}

std::vector<LeastChange> FindLeastChanges(const ChangesJob& asked) {
  ChangesJob job = asked;
  std::vector<LeastChange> changes = std::move(job.known);
  if (job.request.required.empty()) return changes;
  policy::Placer placer(job.placement);
  CloseNodes(placer, job);
  const RoomAsk ask{placer, job.snapshot, job.request};
  const auto add = [&](What what, std::optional<RoomChange> found) {
    if (found) changes.push_back(ChangeOf(what, *std::move(found)));
  };
  add(What::kFree, GpusToFree(ask));
  add(What::kTolerate, TaintsToTolerate(ask));
  add(What::kNodes, NodesToReturn(ask));
  if (changes.empty()) add(What::kTolerate, TaintsAndGpus(ask));
  if (auto ends = FindEnds(placer, job)) changes.push_back(*std::move(ends));
  if (auto fewer = FindFewer(placer, job)) changes.push_back(*std::move(fewer));
  return changes;
}

std::optional<LeastChange> FindNearest(const ChangesJob& asked, policy::Placer& placer) {
  if (asked.request.required.empty()) return std::nullopt;
  ChangesJob job = asked;
  CloseNodes(placer, job);
  const RoomAsk ask{placer, job.snapshot, job.request};
  if (auto found = GpusToFree(ask)) return ChangeOf(What::kFree, *std::move(found));
  if (auto found = TaintsToTolerate(ask)) return ChangeOf(What::kTolerate, *std::move(found));
  if (auto found = NodesToReturn(ask)) return ChangeOf(What::kNodes, *std::move(found));
  return std::nullopt;
}

}  // namespace muster::engine
