#include "engine/preemption/verdict.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/judging/queue_rules.hpp"
#include "engine/preemption/candidates.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

std::optional<KindKey> KindOf(const StandingState& state, const Gang& gang, const PlanJob& job) {
  const bool first =
      StrictOrder(state, gang.queue->queue) && &state.queue.FirstBeside(gang) == &gang;
  const bool turned_down =
      std::any_of(gang.members.begin(), gang.members.end(),
                  [](const auto& entry) { return !entry.second.plan->excluded.empty(); });
  const bool paused = MayPreemptFrom(state, gang).has_value();
  const bool refused = state.refusals.Of(gang.id) != nullptr;
  if (!StartsWhole(gang) || first || turned_down || paused || refused) return std::nullopt;
  const bool counted = TermsOfBookings(state, gang).max_per_user > 0;
  return KindKey{job.request.key,       false,        gang.queue->order->priority,
                 Preempts(state, gang), job.kept_off, counted ? gang.id.key.ns : std::string()};
}

void Wait(StandingState& state, Gang& gang, const std::optional<KindKey>& kind, GangState waits,
          Reason reason) {
  PendingQueue::Tried(gang);
  state.work.TriedInVain(gang.id);
  if (kind) state.queue.Judge(gang, *kind, waits, reason);
  SetState(gang, waits, std::move(reason));
}

std::optional<PlanJob> NoneIsWanted(StandingState& state, Gang& gang) {
  PendingQueue::Tried(gang);
  state.work.TriedInVain(gang.id);
  return std::nullopt;
}

policy::RequestKey OfAnyQueue(policy::RequestKey key) {
  key.queue = "*";  // no queue's name
  key.non_preemptible = false;
  return key;
}

bool DependsOnQueue(const PlanJob& job) {
  return job.preempts_below != INT64_MIN || job.closed != nullptr || job.shaped.shut != nullptr;
}

}  // namespace muster::engine
