// Course: what a gang's members and its plan do not tell of how it came to where it is (internal to
// engine/). Set by the judge (engine/judging/judge.hpp), by the functions below and where the table
// says; whatever else a state needs follows from the facts.
//
//   field          the truth for                       set              cleared
//   queued_at      since when it is complete           complete         a member is missing
//   attempts       failed starts in a row              each one         it runs
//   setback        why the last start failed           each failure     a plan (planning); it runs
//   backoff_until  when it may be planned again        a failed start   when it has come; evidence
//                                                                       that helps (Refusals)
//   expired        its last reservation ran out        then             it runs
//   broken_plans   plans beside bound members that     each one         one more is bound
//                  broke at once, in a row
//   replan_from    when the next such plan may come    with the above   when it has come
//   partial_since  since when it is bound in part      see partial.hpp  it is whole, or unbound, or
//                                                                       waits for room as
//                                                                       LostMember says: no time
//                                                                       passes then
//   in_grace       then: a leaving member has a grace
//   barred         then: it may not be completed now
//   awaits         then: a controller has yet to make a pod in a lost one's place
//   repairing      its bound members are evicted       partialTimeout   they are gone, or one of
//                                                                       them may not go
//   relocating     the same, because lost members     it begins        the same
//                  find no room (LostMember)
//   moving         then: who is evicted; empty: all   it begins        the same
//   moves          how often that was                 each one
//   move_from      when it may be again               each one
//   cramped        its lost members found no room in  planning         a plan; one more is missing;
//                  the domain they have to be in                       it runs
//   obstacle       why one of them was not evicted     handover         the next repair; it runs
//   evicted_for    for whom members were evicted       they are         it runs
//
// Another PodGroup under its name clears all of it. After a restart all of it begins empty, but for
// partial_since, which the gang's record and its pods' times tell, and queued_at, which is when the
// last object came that it needed. So a move that was under way
// ends there: who was evicted is gone, the others stay; and the next one need not wait.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/options.hpp"
#include "engine/reasons/reason.hpp"

namespace muster::engine {

struct Course {
  std::optional<cluster::Time> queued_at;
  int64_t attempts = 0;
  Reason setback;
  std::optional<cluster::Time> backoff_until;
  bool expired = false;
  int64_t broken_plans = 0;
  std::optional<cluster::Time> replan_from;
  std::optional<cluster::Time> partial_since;
  bool in_grace = false;
  bool barred = false;
  bool awaits = false;
  bool repairing = false;
  bool relocating = false;
  std::set<cluster::PodUid> moving;
  int64_t moves = 0;
  std::optional<cluster::Time> move_from;
  bool cramped = false;
  std::string obstacle;
  std::string evicted_for;

  // What goes on when all of its pods are others: what was counted, and pauses that end by
  // themselves. What kube-scheduler said was said of the pods.
  Course WithoutPods() const;
  // Deadlines that have come.
  void Pass(cluster::Time now);
  // It has its minimum: what went wrong before is over.
  void Start();
  // A start failed: the next one waits, longer each time.
  void Fail(Reason why, const Options& options, cluster::Time now);
  // And not before then.
  void PauseUntil(cluster::Time time);
  // A whole reservation of that length ran out unused.
  void Expire(Reason why, cluster::Duration held, const Options& options, cluster::Time now);
  // kube-scheduler refused it: how long it waits follows from what happens (Refusals).
  void Refuse(Reason why);
  // An operator gave its plan back: it is no failure.
  void Cancel(Reason why, cluster::Time until);
  // A plan broke so soon after it was made that it was in vain. `beside`: members are bound.
  void BreakPlan(bool beside, const Options& options, cluster::Time now);
  // It was bound in part for too long.
  void BeginRepair(Reason why, const Options& options, cluster::Time now);
  // Lost members find no room; these are evicted (empty: all), to be placed with them elsewhere.
  void BeginMove(Reason why, std::set<cluster::PodUid> pods, const Options& options,
                 cluster::Time now);
  void EndRepair();
  // The repair takes this member.
  bool Takes(const cluster::PodUid& pod) const {
    return repairing && (moving.empty() || moving.contains(pod));
  }
};

// A plan that is dropped sooner than this without a member bound counts as a failed start, whatever
// the cause: whatever makes and drops plans in turn does it ever more slowly.
inline constexpr cluster::Duration kPlanLasts = cluster::Seconds(5);

// backoff_first × 2^(failures - 1), at most backoff_max.
cluster::Duration BackoffAfter(int64_t failures, const Options& options);
// After the `times`th reservation in a row that ran out: as long as it was held, then twice as long
// and so on, at most an hour unless it was held longer. So it holds at most half of the time.
cluster::Duration PauseAfter(cluster::Duration held, int64_t times);
// And the next one lasts twice as long, and so on, up to a minute: kube-scheduler does not look at
// a pod that it has turned down for as long as its podMaxBackoffSeconds.
cluster::Duration HeldAfter(cluster::Duration timeout, int64_t times);
// first × 2^(times - 1), at most `most`.
cluster::Duration Doubled(cluster::Duration first, int64_t times, cluster::Duration most);

}  // namespace muster::engine
