// The writes that muster makes to pods: the request of each action, and what its answer, or the pod
// looked at afterwards, says about it. Pure functions.
//
// Every write names the UID that it is meant for, so that a pod recreated under the same name is
// never touched; a Binding names the resourceVersion too. That version is the fence between two
// leaders: a new one rewrites cluster::kEpochAnnotation of every pod that bears it, after which a
// Binding that its predecessor sent late is refused (fence.hpp). What lets kube-scheduler bring a
// pod to Bind therefore writes that annotation along.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "cluster/records/pod.hpp"
#include "engine/contract/actions.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::kube {

// Written to make kube-scheduler look at an ungated pod again. Any other value than before will do.
inline constexpr const char* kWakeAnnotation = "muster.dev/wake";

using PodWrite =
    std::variant<engine::Nominate, engine::RemoveGate, engine::WakePod, engine::RecordPod,
                 engine::BindPod, engine::EndHamiTurn, engine::EvictPod, engine::TellPod>;

struct WriteContext {
  int64_t resource_version = 0;  // of the pod as it was seen last; 0: not known
  uint64_t nonce = 0;            // for kWakeAnnotation
  std::string epoch = "0";       // for cluster::kEpochAnnotation, not empty
  bool dry_run = false;          // evictions and deletions only
  // Seconds since 1970, for HAMi's annotations of a Binding, and conditions.
  int64_t now = 0;
};

const engine::PodRef& PodOf(const PodWrite& write);
engine::ActionId IdOf(const PodWrite& write);
// "bind team-a/train-3 to node-7", for logs.
std::string Describe(const PodWrite& write);

ApiRequest RequestOf(const PodWrite& write, const WriteContext& context);
ApiRequest GetPod(const engine::PodRef& pod);
// Instead of an eviction that a budget refuses, as kube-scheduler's preemption does it: the pod's
// condition DisruptionTarget, which podFailurePolicies of Jobs read, and then its deletion. The
// eviction API would set that condition itself.
ApiRequest DisruptionTargetOf(const engine::EvictPod& evict, const WriteContext& context);
ApiRequest DeletionOf(const engine::EvictPod& evict, const WriteContext& context);
// The epoch annotation of a pod that an earlier leader handed over. It goes to the status
// subresource, which fewer admission webhooks watch than pods; what is answered is the pod.
ApiRequest FenceRequest(const engine::PodRef& pod, const std::string& epoch);

// What the answer to a write says.
//   kSettled  the outcome is known
//   kLook     it is not: the pod must be looked at
//   kLater    nothing was done; try again after a while
enum class Standing { kSettled, kLook, kLater };

struct Verdict {
  Standing standing = Standing::kSettled;
  engine::OutcomeKind kind = engine::OutcomeKind::kDone;
  std::string message = {};
};

// To an eviction: a PodDisruptionBudget does not let the pod go, or two of them select it.
bool RefusedByBudget(const ApiReply& answer);
// To a deletion: this account may delete no such pods. An admission webhook that denies it says
// something else.
bool LacksDeletion(const ApiReply& answer);

// `answer`: what Call gave.
Verdict JudgeAnswer(const PodWrite& write, const cluster::Result<ApiReply>& answer);

// The pod as it is now; nothing when it does not exist. `answer` is what had to be settled. kLater
// means that the write has not happened and may be tried again.
Verdict JudgePod(const PodWrite& write, const std::optional<cluster::Pod>& pod,
                 const Verdict& answer);

}  // namespace muster::kube
