// Member: the engine's record of one pod of a gang (internal to engine/). Guarded by Scheduler.
// Plain values; each part names its owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/holdings/allocation.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/actions.hpp"
#include "engine/gangs/owned.hpp"
#include "engine/reasons/reason.hpp"
#include "policy/gpu_links/kubelet_forecast.hpp"

namespace muster::engine {

class Announcer;
class Reminders;
class Reservations;
class WriteTracker;

// The pod's place in the gang's plan. See Reservations.
struct MemberPlan {
  std::optional<cluster::Placement> placement;
  std::string node;        // of the placement; empty: not planned
  bool required = false;   // one of the gang's minimum, not an elastic member
  bool nominated = false;  // its node was nominated for it, or is named by its affinity
  bool bind_seen = false;  // a Bind call came for this plan
  cluster::Time made_at;   // wherever it was moved since
  uint32_t rank = 0;       // among the gang's pods, see RanksOf, when it was planned
  // What the kubelet was expected to do when the pod was bound; nothing: this process did not bind
  // it, or it asks for no whole GPUs of NVIDIA's device plugin.
  std::optional<policy::KubeletPick> kubelet_pick;
  // Its reservation ran out beside bound members of its gang: it is not planned again before this.
  std::optional<cluster::Time> pauses_until;
  int64_t expiries = 0;  // how often that happened
  // Nodes that kube-scheduler rejected for this pod, until when.
  std::map<std::string, cluster::Time> excluded;
  // Since it was handed over for this plan kube-scheduler has found no node for it at all. Still to
  // come: it has not, unless it asks before.
  std::optional<cluster::Time> refused_at;
};

// A Bind call that waits for its gang (or for the API server's answer).
struct HeldBind {
  uint64_t ticket = 0;
  cluster::Time answer_by;
};

// The one action under way for a pod; the next one waits for its outcome.
enum class WriteKind { kNothing, kNominate, kRemoveGate, kWake, kRecord, kBind, kEndTurn, kEvict };

// What is being written to the pod, and what came of the last writes. See WriteTracker.
struct MemberWrites {
  std::vector<HeldBind> held;
  WriteKind doing = WriteKind::kNothing;
  bool needs_wake = false;       // kube-scheduler got a refusal and does not ask again by itself
  bool evicting = false;         // EvictPod done: the pod is about to go
  bool outcome_unknown = false;  // of a binding: it is requested again until it is known
  ActionId action;               // of `doing`
  std::string asked_node;        // of the last Nominate
  bool asked_handover = false;   // and whether it hands the pod over
  std::string asked_gang;        // BindPod::gang of the last one
  std::shared_ptr<const cluster::GangRecord> asked_record;  // RecordPod::record of the last one
  std::string pinned_node;                                  // of the last RemoveGate that pinned it
  cluster::Time not_before;  // of the next action: after a failed one
  int64_t refusals = 0;      // of actions, in a row
};

struct Member {
  cluster::PodUid uid;
  cluster::ObjectKey key;
  // Its record, always of now (see ClusterState::FindPod). Members are looked at thousands of times
  // while a large gang starts.
  const cluster::Pod* pod = nullptr;
  // What it holds, always of now (see ClusterState::FindHolding).
  const std::optional<cluster::Allocation>* holding = nullptr;
  // Muster's to place and to evict; false: another scheduler's, it only counts.
  bool ours = true;
  // It has ended, in an earlier run of the gang: it counts no more.
  bool from_earlier_run = false;

  Owned<MemberPlan, Reservations> plan;
  Owned<MemberWrites, WriteTracker> writes;
  Owned<std::string, Announcer> reported_defect;  // of the pod, in an Event
  Owned<ReasonCode, Reminders> told = {};         // why it waits, by TellPod; its pod says so still

  bool planned() const { return plan->placement.has_value(); }
  bool busy() const { return writes->doing != WriteKind::kNothing; }
  // The pod may be bound without our knowing: its reservation must stay.
  bool may_be_bound() const { return writes->doing == WriteKind::kBind || writes->outcome_unknown; }
  // It is bound and has not ended.
  bool holds() const { return pod->bound() && !pod->terminal(); }
  // What it holds on a known node, bound or reserved; null: nothing.
  const cluster::Allocation* held() const {
    return holding != nullptr && holding->has_value() ? &**holding : nullptr;
  }
  // On its way out.
  bool leaving() const { return pod->deleting || writes->evicting; }
  // It is malformed, or Muster's to place and asks for devices that Muster does not plan, and has
  // no node: what it wants is not known.
  bool malformed() const {
    return !pod->bound() && !pod->terminal() && !may_be_bound() &&
           (!pod->defect.empty() || (ours && !pod->spec->unplanned_devices.empty()));
  }
  // It is Muster's to place, and no node can take it before its volumes are ready.
  bool awaits_volumes() const {
    return ours && pod->awaits_volumes() && !pod->bound() && !pod->terminal() && !may_be_bound();
  }
};

}  // namespace muster::engine
