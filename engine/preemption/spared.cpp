#include "engine/preemption/spared.hpp"

#include <algorithm>

#include "engine/preemption/queue_rights.hpp"
#include "engine/standing/show.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

std::string DelayWords(const StandingState& state, const Gang& gang, Time now) {
  const QueueBook& book = state.queue_book;
  if (!gang.course.queued_at) return {};
  const cluster::Duration delay(book.tree().at(book.IndexOf(QueueOf(gang))).preemption.delay);
  const Time from = *gang.course.queued_at + delay;
  return from > now ? "preemption.delay of its queue: not before " + ShowTime(from) : "";
}

}  // namespace

std::vector<std::string> WhyNotEnough(const KnownCandidates& candidates) {
  std::vector<std::string> words;
  const Shielded& shielded = candidates.shielded;
  if (shielded.gangs > 0) {
    words.push_back(std::to_string(shielded.gangs) +
                    (shielded.gangs == 1 ? " gang is protected for now: "
                                         : " gangs are protected for now, the first: ") +
                    shielded.Words());
  }
  for (const RefusedVictim& refused : candidates.refused)
    words.push_back("gang " + refused.gang.key.ToString() + ": " + refused.why);
  const bool any = std::any_of(candidates.choices.begin(), candidates.choices.end(),
                               [](const VictimChoice& one) { return !one.list->empty(); });
  if (any) {
    words.insert(words.begin(), "evicting all that it may evict would not make enough room");
  } else if (words.empty()) {
    words.emplace_back("nothing runs that it may evict");
  }
  return words;
}

std::string EvictionBar(const StandingState& state, const Gang& gang, Time now) {
  if (!EvictsAny(state, gang)) return "preemption of queue " + QueueOf(gang) + " evicts nobody";
  if (!Preempts(state, gang)) return "preemptionPolicy of its PodGroup or a pod is Never";
  const Refusal* refusal = state.refusals.Of(gang.id);
  if (refusal != nullptr && !refusal->may_evict)
    return "kube-scheduler refused it, and would have evicted them for nothing";
  if (const auto from = MayPreemptFrom(state, gang); from && *from > now)
    return "it preempted others in vain: not before " + ShowTime(*from);
  if (!MayPreempt(state, gang))
    return "nobody of its queue has a lower priority, and its queue may reclaim nothing";
  return DelayWords(state, gang, now);
}

std::vector<std::string> WhyNobodyMakesWay(const StandingState& state, const Gang& gang, Time now) {
  const bool waits = gang.state == GangState::kQueued && gang.tally.bound_of_muster == 0;
  if (!waits || !LacksRoom(gang.reason.code)) return {};
  std::string bar = EvictionBar(state, gang, now);
  if (!bar.empty()) return {std::move(bar)};
  return gang.reason.spared.words();
}

}  // namespace muster::engine
