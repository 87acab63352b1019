// Actions: what the engine wants done. kube/ carries them out against a real API server, sim/
// against a simulated one; both report an Outcome (engine/contract/outcome.hpp) for every action
// that has an id.
//
// Actions concerning one pod are carried out in the order given; actions of different pods may run
// at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/gang_record.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/node_ask.hpp"
#include "engine/contract/outcome.hpp"

namespace muster::engine {

// One pod, by name for the URL and by UID for the precondition.
struct PodRef {
  cluster::ObjectKey key;
  cluster::PodUid uid;
  auto operator<=>(const PodRef&) const = default;
};

// status.nominatedNodeName := node (empty: cleared). With `hands_over`, no gate keeps the pod from
// Bind: cluster::kEpochAnnotation is written too. With `unsays`, what TellPod wrote goes.
struct Nominate {
  ActionId id;
  PodRef pod;
  std::string node;
  bool hands_over = false;
  bool unsays = false;
};
// Takes cluster::kGangGate off the pod and writes cluster::kEpochAnnotation. With `pin`, that node
// is the only one that its required node affinity lets it on; `spec` is what it asks for now.
struct RemoveGate {
  ActionId id;
  PodRef pod;
  std::string pin = {};
  std::shared_ptr<const cluster::PodSpec> spec = nullptr;
  bool hands_over = true;  // false: another scheduler places it, and the pod gets no mark of ours
};
// Changes an annotation, so that kube-scheduler looks at an ungated pod again (a patch of the
// status alone does not wake it), and writes cluster::kEpochAnnotation.
struct WakePod {
  ActionId id;
  PodRef pod;
};
// Annotation cluster::kGangRecordAnnotation of a bound pod whose gang has no object to carry it.
struct RecordPod {
  ActionId id;
  PodRef pod;
  cluster::GangRecord record;
};
// status.message of a gated member of a gang that waits long: why. No condition is touched, so that
// nothing counts the pod as one to make room for. Its outcome does not matter.
struct TellPod {
  ActionId id;
  PodRef pod;
  std::string message;  // ≤ kMessageBytes bytes
};
// Binding subresource: node and annotations (cluster::kGpusAnnotation, kGpuUuidsAnnotation,
// kRankAnnotation, kTopologyPathAnnotation, those of hami_devices.hpp) in one write, with the UID
// as precondition.
struct BindPod {
  ActionId id;
  PodRef pod;
  std::string node;
  std::vector<cluster::GpuIndex> gpus;
  std::optional<uint32_t> rank = std::nullopt;  // nothing: of a gang of one
  std::string topology_path = {};               // empty: the node is in no tree
  std::string gang = {};                        // kBoundInAnnotation; empty: none
  std::string gpu_uuids = {};                   // comma-separated; empty: not all of them are known
  std::string hami_devices = {};  // cluster::EncodeHamiDevices; empty: HAMi has no part in it
  bool keeps_node = false;        // cluster::kDoNotDisrupt "true", kSafeToEvict "false"
  // The ProvisioningRequest that brought the nodes, and its class: cluster::kConsumesRequest,
  // kRequestClass. Empty: none did.
  std::string consumes = {};
  std::string request_class = {};
};
// Takes cluster::kHamiBindTimeAnnotation off a pod that HAMi's plugin has served, so that the
// plugin does not take it for the next one of its node (hami_devices.hpp).
struct EndHamiTurn {
  ActionId id;
  PodRef pod;
};
// Eviction subresource, with the UID as precondition.
struct EvictPod {
  ActionId id;
  PodRef pod;
  std::string why;
  // The gang for which it is done: its own, or its preemptor. What is to be
  // evicted for one gang goes together or not at all.
  cluster::ObjectKey gang = {};
  std::optional<cluster::Duration> grace = {};  // instead of the pod's own, which is longer
  // Where a PodDisruptionBudget refuses it, and nothing else does, the pod is deleted.
  bool over_budgets = false;
};
// What the PodGroup's status should say; written in the flavour's own words. No outcome is waited
// for.
struct PatchGang {
  cluster::ObjectKey key;
  cluster::PodGroupUid uid;
  std::string state;   // ToString(GangState)
  std::string reason;  // ToString(ReasonCode), empty when nothing is waited for
  std::string message;
  int64_t bound = 0;
  int64_t succeeded = 0;
  int64_t failed = 0;
  cluster::GangRecord record = {};  // written as cluster::kGangRecordAnnotation; empty: taken away
};
// What an Event or a status message may have, in bytes.
inline constexpr size_t kMessageBytes = 1024;
// An Event on the PodGroup, on the first pod of a gang that has none, on a node (then in namespace
// default), or on what keeps the orders of operators. No outcome is waited for.
struct EmitEvent {
  cluster::ObjectKey key;
  std::string uid;
  bool on_pod = false;  // else on the PodGroup
  bool warning = false;
  std::string reason;    // CamelCase, ≤ 128 bytes
  std::string message;   // what is over kMessageBytes is cut
  bool on_node = false;  // `key` and `uid` are a node's
  // On what keeps StandingOrders, which the port knows; `key` has the queue's name, and `uid` tells
  // one queue from another.
  bool on_orders = false;
};
// The reply to a held Bind call. `error` empty: the pod is bound.
struct AnswerBind {
  uint64_t ticket = 0;
  std::string error;
};

using Action =
    std::variant<Nominate, RemoveGate, WakePod, RecordPod, BindPod, EndHamiTurn, EvictPod,
                 PatchGang, EmitEvent, AnswerBind, TellPod, AskForNodes, WithdrawAsk>;

}  // namespace muster::engine
