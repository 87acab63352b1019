// What the policy's queues mean for a gang (internal to engine/).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/holdings/node_set.hpp"
#include "engine/gangs/gang.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

struct StandingState;

// Its queue, as its PodGroup, its pods and its namespace say now, and whether it is preemptible:
// its pods are charged there.
void AssignQueue(StandingState& state, Gang& gang);

// What the members would hold that it needs next: its minimum, or else one more. Devices by model
// and their memory only where pods name the model.
cluster::Usage AsksOf(const Gang& gang);

// A gang that does not fit blocks those behind it in the queue.
bool StrictOrder(const StandingState& state, const std::string& queue);

// No gang of its queue may start for now; kNone: they may.
Reason HoldBar(const StandingState& state, const Gang& gang);
// Nor may gangs that run get members beyond their minimum.
bool Drains(const StandingState& state, const Gang& gang);

// It was evicted as a whole, and its queue starts such gangs no more; kNone: it does.
Reason EvictedBar(const StandingState& state, const Gang& gang);

// R3, R14: why the gang may not hold so much more; kNone: it may.
Reason OverQueue(const StandingState& state, const Gang& gang, const cluster::Usage& asks);

// The same, where no eviction helps: R14, of a gang that is not preemptible.
Reason OverOwnGuarantee(const StandingState& state, const Gang& gang);

// It would be over a limit, or take what is kept for others, if nobody else were in the cluster:
// R12, until the policy or the cluster changes.
bool OverQueueAlone(const StandingState& state, const Gang& gang);

// What gangs ask for that hold nothing yet, as if they did.
struct ChargedAlso {
  std::string queue;
  cluster::Usage asks;
};
// OverQueue of what the gang waits for, beside `others`, in a cluster that has grown by what all of
// them ask for.
Reason OverGrownQueue(const StandingState& state, const Gang& gang,
                      const std::vector<ChargedAlso>& others);

// Nodes of models that it does not name and may not hold: the limit of a queue forbids it.
struct ClosedNodes {
  std::shared_ptr<const cluster::NodeSet> nodes;  // null: none
  Reason why;
};
ClosedNodes ClosedTo(const StandingState& state, const Gang& gang);

// What all of that would hold.
cluster::Usage UsageOf(const StandingState& state, const std::vector<cluster::Placement>& places);

// The queue of the policy for whose gang room is booked (R10): its namespace's queue is below that.
const std::string& BookedFor(const StandingState& state, const Gang& gang);

// Its queue's.
queues::BookingTerms TermsOfBookings(const StandingState& state, const Gang& gang);

// R14: it says that it is not preemptible (its PodGroup, else one of its pods), or is of a
// protected class: it or a pod of it has a system priority (2·10⁹ and more), is a DaemonSet's or a
// mirror pod.
bool IsNonPreemptible(const StandingState& state, const Gang& gang);

}  // namespace muster::engine
