// Why a gang has not started: one code of a closed set, with numbers and names. Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/reasons/down.hpp"
#include "engine/reasons/reason_parts.hpp"
#include "policy/placing/placement.hpp"

namespace muster::engine {

enum class ReasonCode {
  kNone,  // nothing is waited for
  // Forming
  kOwnersUnread,       // an owner of its pods cannot be read, see `detail`
  kPodGroupMissing,    // pods name a PodGroup that does not exist
  kWaitingForMembers,  // have < need pods exist
  kResourceQuota,      // the same, and the quota in `detail` lets no more be created
  kVolumesNotReady,    // have < need pods are ready: a claim of the one in `detail` is not
  kGatedByOthers,      // have < need pods are free of other controllers' scheduling gates
  kOtherScheduler,     // the same, and pods of its group name another scheduler, see `detail`
  kPlacedByOthers,     // have < need pods are Muster's to place or bound: others place the rest
  // Queued, Degraded
  kNotTried,       // complete, its turn has not come yet
  kWatchStale,     // the API server has said nothing on the resources in `detail` for too long
  kPodNotFenced,   // an earlier leader may still bind the pod in `detail`, which cannot be written
  kNotEnoughGpus,  // the nodes that it may use have too few free GPUs in total
  kFragmented,     // enough free GPUs in total, but no combination of nodes has enough of them
  kNumaPolicy,     // enough of them on a node, but in no set that the kubelet admits
  kNotEnoughCpu,
  kNotEnoughMemory,
  kNotEnoughOfResource,  // of one of which only the name is known
  kNotEnoughPodSlots,
  kNotEnoughChannels,  // of ComputeDomains: pods that need one run on every node that it may use
  kNoMatchingNode,     // labels, affinity or taints leave too few nodes
  kPodRules,           // host ports, pod (anti-)affinity or topology spread leave too few nodes
  kNodeVolumes,        // its volumes, with those of other pods, leave too few nodes
  kNodesUnavailable,   // enough nodes would match, but they are cordoned or not ready
  kNodesLeftOut,       // enough nodes would match, but members failed there at their start
  kNoWholeSegments,    // all members would find a node, but not in the segments of `detail`
  kBlockedByOrder,     // strict order: the gang named in `detail` takes precedence
  kQueueLimit,         // a queue on its path would be over its limit: `need` of at most `have`
  kQueueGuarantee,     // it would borrow `need` where `have` may be, or is over its own guarantee
  kMinRuntime,         // `need` gangs that would make room are protected for now, see `detail`
  kDisruptionBudget,   // the same, by PodDisruptionBudgets
  kReserved,           // it would fit, but for room that is kept for whoever is in `detail`
  kBackfillLimit,  // as many gangs of its namespace as may have gone ahead of the one in `detail`
  kHold,           // its queue starts no gang for now
  // Backoff; also Degraded: the deadline passed before all reached Bind (have of need did)
  kReservationExpired,
  kRefused,      // kube-scheduler finds no node for the member in `detail`, and says why
  kBindFailed,   // the API server refused a binding
  kPlanBroken,   // a planned node was lost, cordoned, shrank or was taken by another scheduler
  kRepairing,    // the gang was partially bound for too long; its bound members are being evicted
  kCancelled,    // an operator gave its plan back
  kVictimsStay,  // have of need victims are gone; the others may not be evicted or take too long
  // Preempting
  kVictimsLeaving,  // have of need pods of the gangs in `detail` are gone
  // Reserved, Binding
  kNominating,      // have of need members are nominated
  kReleasing,       // gates are being removed
  kWaitingForBind,  // have of need Bind calls have arrived
  kBinding,         // have of need members are bound
  // Degraded
  kMembersLost,  // have of need members are bound, the others are gone
  kMoving,       // lost members find no room in their domain; `detail` says who moves where
  // Forming, Degraded
  kPreempted,  // members are evicted for the gang in `detail`
  kReclaimed,  // members are evicted for the operator in `detail`
  // Invalid
  kInvalidPodGroup,   // detail says which field and why
  kInvalidMember,     // detail names the pod and the field
  kUnplannedDevices,  // detail names the pod, by what it asks for devices, and what to do
  // Forbidden
  kNamespaceForbidden,  // policy does not let this namespace use Muster
  kNamespaceEnding,     // the namespace is being deleted, and its pods with it
  kQueueForbidden,      // its namespace may not use its queue, or no queue is its namespace's
  kQueueUnknown,        // it names a queue that the policy does not have
  kEvicted,             // it was evicted as a whole, and its queue starts such gangs no more
  // Unsatisfiable
  kNeverFits,  // it would not fit even if only that ran which stays (see EverFits)
};

const char* ToString(ReasonCode code);
bool LacksRoom(ReasonCode code);  // it would start if there were more room, of whatever kind
// The code's name in the release before, which scripts may still match; null: the same.
const char* FormerName(ReasonCode code);

struct Reason {
  ReasonCode code = ReasonCode::kNone;
  int64_t have = 0;
  int64_t need = 0;
  std::string detail;  // pod, field, gang or message of the API server; may be empty
  // Where room is what it lacks: nodes and GPUs, counted at its last try (LackText). Events and
  // statuses are not written again because it changed.
  SharedText counts = {};
  SharedShortage shortage = {};  // the same as data; none: room is not what it lacks
  // Who did not make room at that try, and why (engine/preemption/spared.hpp).
  SharedWords spared = {};
  auto operator<=>(const Reason&) const = default;
};

Reason Because(ReasonCode code, int64_t have = 0, int64_t need = 0, std::string detail = {});

// It cannot ever fit, for that reason.
Reason NeverFits(const Reason& why);

// One sentence for people, e.g. "not enough free GPUs: it wants 80 GPUs (10 × 8), 40 were free …".
std::string Describe(const Reason& reason);

// The reason for a gang that did not fit, from where its nodes were lost. `never`: it would not
// either if only that ran which stays and all were in use. `down`: in the domain that it names,
// where it names none among all nodes; what would be enough for it.
Reason FromShortage(const policy::Shortage& shortage, bool never = false, const Down& down = {});

}  // namespace muster::engine
