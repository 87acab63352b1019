// GangView: what the engine tells people and tests about one gang. Plain values, copied out under
// the lock.
//
//   Forming ──complete──▶ Queued ──plan──▶ Reserved ──all Bind calls──▶ Binding ──min bound──▶
//   Running ──▶ Finished
//      ▲                  │  ▲  │           ▲  │ deadline, failure         │ partial │ lost members
//      └── members gone ──┘  │  ▼ victims   │  │                           │         ▼
//                            │ Preempting ──┘  │ (they are gone)           │         Degraded
//                            └── Backoff ◀─────┴───────────────────────────┘
//   Invalid · Forbidden · Unsatisfiable: hold nothing, say why
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/gang_id.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/victims.hpp"
#include "engine/reasons/reason.hpp"
#include "policy/gpu_links/kubelet_forecast.hpp"
#include "queues/queue_spec.hpp"

namespace muster::engine {

// Each enumerator lists the states that may follow it.
enum class GangState {
  kForming,        // Queued, Invalid, Forbidden, Finished, (gone)
  kQueued,         // Reserved, Preempting, Forming, Unsatisfiable, Invalid, Forbidden, Degraded
  kReserved,       // Binding, Backoff, Queued, Forming
  kBinding,        // Running, Degraded, Backoff
  kRunning,        // Finished, Degraded
  kFinished,       // Forming, Queued (new members), (gone)
  kBackoff,        // Queued, Forming
  kDegraded,       // Running, Binding, Backoff, Finished, Forming
  kInvalid,        // Forming, Queued (when fixed)
  kForbidden,      // Forming, Queued (when the policy changes)
  kUnsatisfiable,  // Queued (when the cluster or the gang changes), Forming
  kPreempting,     // Reserved (its victims are gone), Backoff, Queued, Forming
};
inline constexpr int kGangStates = 12;

const char* ToString(GangState state);

using cluster::GangId;

struct MemberView {
  cluster::ObjectKey pod;
  cluster::PodUid uid;
  std::string role;
  cluster::PodPhase phase = cluster::PodPhase::kPending;
  bool ours = true;  // Muster's to place and to evict; false: another scheduler's
  bool gated = false;
  bool required = false;                // part of the all-or-nothing set of the present plan
  uint32_t rank = 0;                    // among all of these, see RanksOf
  std::string planned_node;             // empty: not planned
  std::string bound_node;               // empty: not bound
  std::vector<cluster::GpuIndex> gpus;  // of the plan, or held when bound
  bool bind_held = false;               // a Bind call waits at the barrier
  // What NVIDIA's device plugin is expected to hand out, see policy::KubeletForecast; nothing: no
  // whole GPUs, another plugin, or bound before this process began.
  std::optional<policy::KubeletPick> kubelet_pick;
};

// For people: "enforced", "declared", "learnt", "unknown".
const char* ToString(queues::Trust trust);

// When what a gang holds becomes free.
struct KnownEnd {
  cluster::Time at = cluster::Time::Never();
  queues::Trust by = queues::Trust::kNone;
};

// When a gang that waits is to start: what it has booked.
struct ExpectedStart {
  cluster::Time at = cluster::Time::Never();  // Never: nobody knows
  queues::Trust by = queues::Trust::kNone;    // the weakest word that it relies on
  std::string why;                            // whose end it waits for, and where
};

// What a gang had that ended early, until then. See engine/preemption/restart_window.hpp.
struct KeptForRestart {
  cluster::Time until;
  int64_t pods = 0;
  std::string nodes;  // for people
};

struct GangView {
  GangId id;
  GangState state = GangState::kForming;
  Reason reason;
  // Why it is no gang, or why some of it starts by itself, by what its pods' owners say; empty:
  // nobody says anything, or all of it starts together.
  std::string apart;
  // Of a gang that waits for room: whether nodes are asked for, and why not; empty: it does not, or
  // the policy has no scale-up.
  std::string scale_up;
  // What is written of it and has no effect, each with why; empty: nothing.
  std::vector<std::string> not_honoured;
  std::string remainder;  // of elastic members, see RemainderOf; empty: none
  std::string queue;      // root: also where the policy has no queues
  int32_t priority = 0;   // under the cap of its queue
  bool ordered = false;   // an operator has ordered it
  bool non_preemptible = false;
  int64_t min_member = 1;
  cluster::GpuMilli gpus;                // that its members which are not over ask for or hold
  std::optional<cluster::Time> created;  // its PodGroup, else its first member; nothing: not known
  int64_t bound = 0;                     // live and bound
  int64_t succeeded = 0;
  int64_t failed = 0;
  std::optional<cluster::Time> queued_at;   // complete since; nothing when it never was
  std::optional<cluster::Time> started_at;  // min_member bound since; engine time
  std::optional<cluster::Time> deadline;    // of the reservation, of the backoff or of the repair
  // What enforces its end counts while it waits, too: it is ended then. Nothing: it has ended, or
  // nothing does.
  std::optional<cluster::Time> ends_at;
  std::optional<ExpectedStart> expected;  // nothing: it has booked nothing
  std::optional<KeptForRestart> kept;     // nothing: nothing is
  int64_t attempts = 0;                   // failed starts in a row
  int64_t plans = 0;                      // made for it, as long as it is known
  std::vector<MemberView> members;        // ordered by name
  // Of the last preemption for it, in this process's life.
  std::optional<Certificate> certificate;
};

}  // namespace muster::engine
