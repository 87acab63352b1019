// Gang and Member: the engine's own records of a gang (internal to engine/). Owned and guarded by
// Scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/allocation.hpp"
#include "cluster/ids.hpp"
#include "cluster/pod.hpp"
#include "engine/actions.hpp"
#include "engine/gang_view.hpp"
#include "engine/past.hpp"

namespace muster::engine {

// A Bind call that waits for its gang (or for the API server's answer).
struct HeldBind {
  uint64_t ticket = 0;
  cluster::Time answer_by;
};

// The one action under way for a pod; the next one waits for its outcome.
enum class Doing { kNothing, kNominate, kRemoveGate, kWake, kRecord, kBind, kEvict };

struct Member {
  cluster::PodUid uid;
  cluster::ObjectKey key;
  // Its record, always of now (see ClusterState::FindPod). Members are looked at thousands of times
  // while a large gang starts.
  const cluster::Pod* pod = nullptr;
  // Muster's to place and to evict; false: another scheduler's, it only counts.
  bool ours = true;
  // It has ended, in an earlier run of the gang: it counts no more.
  bool bygone = false;

  // The plan. Truth for the reservation of this pod in ClusterState: both exist or neither.
  std::optional<cluster::Placement> plan;
  std::string planned_node;
  bool required = false;
  bool nominated =
      false;  // the plan's node is (or was, when kube-scheduler cleared it since) nominated
  bool bind_seen = false;  // a Bind call came for this plan

  std::vector<HeldBind> held;
  Doing doing = Doing::kNothing;
  ActionId action;           // of `doing`
  std::string asked_node;    // of the last Nominate
  bool asked_over = false;   // and whether it hands the pod over
  std::string pinned_node;   // of the last RemoveGate that pinned it
  cluster::Time not_before;  // of the next action: after a failed one
  int64_t refusals = 0;      // of actions, in a row
  bool refused = false;      // kube-scheduler was told "no" and will not ask again by itself
  bool evicting = false;     // EvictPod done: the pod is about to go
  bool unsure = false;       // a binding's outcome is not known: it is asked for until it is
  std::optional<GangId> makes_way_for;  // the Preempting gang whose victim it is
  bool must_go = false;                 // that gang's members are nominated: evict it now
  // It could not be evicted, or did not leave in time: nobody's victim until then.
  std::optional<cluster::Time> stays_until;

  cluster::Time planned_at;  // its reservation is of then, wherever it was moved since
  // Its reservation ran out beside bound members of its gang: it is not planned again before this.
  std::optional<cluster::Time> pauses_until;
  std::string told_defect;  // of the pod, in an Event
  int64_t expiries = 0;     // how often it did; a pod that is bound stays so, and none begins anew

  // Nodes that kube-scheduler turned down for this pod, until when.
  std::map<std::string, cluster::Time> excluded;

  // The pod may be bound without our knowing: its reservation must stay.
  bool may_be_bound() const { return doing == Doing::kBind || unsure; }
  // It is malformed and has no node: what it wants is not known.
  bool malformed() const {
    return !pod->defect.empty() && !pod->bound() && !pod->terminal() && !may_be_bound();
  }
};

// Place in the queue: priority, then who has not just held room in vain, then who was planned
// before (by an earlier leader, say), then age, then id. `negated_priority` so that smaller goes
// first.
struct OrderKey {
  int64_t negated_priority = 0;
  bool expired = false;  // its last reservation did
  bool fresh = false;    // no member is nominated
  int64_t created = 0;
  GangId id;
  auto operator<=>(const OrderKey&) const = default;
};

// Required pods by interned PodSpec id and count: gangs of equal shape fit or fail together.
using Shape = std::vector<std::pair<uint64_t, int64_t>>;

// How many members are what. `pending`: Muster's, live, not bound, free of other controllers'
// gates, well-formed and not pausing.
struct Tally {
  int64_t bound = 0;
  int64_t ours = 0;            // of these, Muster's
  int64_t others_pending = 0;  // not bound, and another scheduler's to place
  int64_t mine = 0;            // Muster's, whatever became of them
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t pending = 0;
  int64_t gated_by_others = 0;
  int64_t malformed = 0;   // beside members that are bound: they are left out
  int64_t pausing = 0;     // as pending, but for their pause
  int64_t planned = 0;     // pending ones with a plan
  int64_t leaving = 0;     // Muster's, bound and being deleted or evicted
  int64_t making_way = 0;  // victims of another gang
  int64_t staying = 0;     // bound, Muster's and nobody's victim
  // Of bound ones that leave and whose node works, whose ever: when the last one's grace is over.
  cluster::Time leave_by;
  int64_t present() const {
    return bound + pending + pausing + malformed + gated_by_others + others_pending;
  }
};

// Who counts as there when it is asked what a gang still lacks. Each also counts all before it.
//   kBound    bound, or has succeeded
//   kPlanned  has a plan
//   kReady    free of other controllers' gates, and not pausing
//   kPresent  exists, and is not on its way out
enum class Counting { kBound, kPlanned, kReady, kPresent };

// What a Preempting gang waits for. Its members have earmarks in ClusterState, not reservations.
struct Victims {
  std::set<cluster::PodUid> pods;
  std::string gangs;     // theirs, for people
  bool asked = false;    // evictions were asked for: all members are nominated
  bool begun = false;    // one was carried out: there is no way back
  bool lost = false;     // one of them is no longer what it was
  std::string obstacle;  // why one of them may not be evicted
};

struct Kind;  // of gangs that fit or fail together: see PendingQueue

// A record that somebody took away, or that our own write has not brought yet, is written again
// after this.
inline constexpr cluster::Duration kRecordAgain = cluster::Seconds(30);

struct Gang {
  GangId id;
  std::map<cluster::PodUid, Member> members;

  GangState state = GangState::kForming;
  Reason reason;
  Tally tally;
  int64_t min_member = 1;      // of the PodGroup, 1 for a gang of one
  cluster::Headcount minimum;  // what its live and its succeeded members must come to now
  Past past;
  std::string group_uid;  // of the PodGroup (or pod) that `state` belongs to
  uint64_t version = 0;   // changes whenever anything a plan depends on changes

  bool barrier_open = false;   // min_member Bind calls have arrived for the present plan
  bool all_nominated = false;  // every planned member was nominated: gates may go
  bool check_plan = false;     // a node of the plan changed
  bool repairing = false;      // it stayed partial: its bound members are being evicted
  std::string obstacle;        // why one of them was not, and so none
  bool judged = false;         // ever; a follower judges nothing
  bool tried = false;          // a plan was attempted since it became complete
  bool expired = false;        // its last reservation did: others go first

  int64_t attempts = 0;                    // failed starts in a row
  int64_t plans = 0;                       // made for it, as long as it is known
  std::optional<cluster::Time> queued_at;  // complete since
  cluster::Time planned_at;                // the present plan
  // Of the present plan; beside bound members of the next reservation that runs out.
  std::optional<cluster::Time> deadline;
  std::optional<cluster::Time> backoff_until;
  // Beside bound members: plans in a row that broke at once, and when the next one may be made.
  int64_t broken_plans = 0;
  std::optional<cluster::Time> replan_from;
  int64_t vain_preemptions = 0;  // others were evicted for it and it did not start, in a row
  std::optional<cluster::Time> may_preempt_from;
  std::optional<cluster::Time> partial_since;  // some but fewer than min_member bound
  bool in_grace = false;                       // and a member that leaves may take its time
  bool barred = false;                         // and it may not be completed for now
  std::optional<Victims> victims;              // the plan is one of earmarks
  // Its key in Core::holding_ while members hold something: the highest priority among them.
  std::optional<int32_t> held_priority;
  int64_t held_by = 0;  // members that do
  Reason setback;       // why the last start failed; shown in Backoff

  std::optional<OrderKey> pending;             // its place in Core::queue_, when it is there
  Kind* kind = nullptr;                        // whose fate it shares there
  std::optional<cluster::Time> timer;          // its entry in Core::timers_
  GangState seen_state = GangState::kForming;  // as of changed_at
  ReasonCode seen_reason = ReasonCode::kNone;
  // What was last written to the PodGroup.
  std::optional<GangState> published_state;
  ReasonCode published_reason = ReasonCode::kNone;
  std::pair<int64_t, int64_t> published_done{
      -1, -1};  // members that are bound or ended; of these, succeeded
  cluster::GangRecord published_record;
  // When that was, and whether the object says otherwise since.
  cluster::Time recorded_at;
  bool record_differs = false;
  cluster::Time changed_at;  // when state or reason changed last
};

// What it costs to look at a gang, in members.
inline int64_t CostOf(const Gang& gang) { return 4 + static_cast<int64_t>(gang.members.size()); }

}  // namespace muster::engine
