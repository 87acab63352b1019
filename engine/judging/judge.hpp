// GangJudge: what state a gang is in, why, and what has to be done about it (internal to engine/).
// Pure: the same gang in the same surroundings at the same time has the same verdict; nothing is
// changed.
//
// 1. The state follows from the members, the plan, the past and the deadlines (Course). What state
//    the gang was in before decides nothing, but for one thing: a reason that planning found stays
//    until planning finds another.
// 2. A verdict is either final, or it is one Step that changes what the gang is (a plan is given
//    back, say). The caller takes the step, counts the members again, and asks on from `resume`.
// 3. Each Stage asks for one step at most, and stages are passed in order: a judgement ends.
// 4. The verdict's course replaces the gang's before its step is taken.
#pragma once

#include <optional>
#include <string>

#include "cluster/records/pod_group.hpp"
#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/machines/hami_turns.hpp"
#include "engine/standing/releases.hpp"

namespace muster::engine {

// Of the gang's victims, where it preempts. See Preemptions.
struct VictimsLeft {
  int64_t need = 0;  // chosen
  int64_t gone = 0;
  std::string gangs;         // theirs, for people
  std::string obstacle;      // why one of them may not be evicted
  cluster::Time not_before;  // as in Victims
  bool asked = false;        // evictions were asked for
  bool begun = false;        // one was carried out
  bool under_way = false;
  bool wanted = true;   // what was planned when they were chosen still holds
  cluster::Time until;  // they are waited for at least as long: their grace
};

// What a gang's state depends on beside the gang. All of it outlives the judgement.
struct Surroundings {
  const Options& options;
  cluster::Time now;
  const cluster::PodGroup* group = nullptr;  // null: a gang of one, or its PodGroup is gone
  Reason namespace_bar = {};          // why no gang of its namespace may start, or it has no queue
  Reason hold_bar = {};               // why no gang of its queue is started for now
  Reason evicted_bar = {};            // it was evicted, and its queue does not start it again
  Reason fence_bar = {};              // a pod of it is not fenced
  Reason quota_bar = {};              // why members that it lacks cannot be created
  Reason volume_bar = {};             // why members may not start because of their volumes
  std::string other_schedulers = {};  // whom pods of its group name that are no members
  std::string stale_resources = {};   // see WatchStale
  bool plan_holds = true;             // every planned node still takes its member
  cluster::Duration reservation_timeout = {};
  Reason evicted_for = {};                  // why that one goes; kNone: none is a victim
  std::optional<VictimsLeft> victims = {};  // nothing: it does not preempt
  std::optional<TurnsAwaited> turns = {};   // of its members, see HamiTurns
  std::optional<ReleaseTurn> release = {};  // of its pods, see Releases
};

// In the order in which they are passed.
enum class Stage {
  kHeldCalls,
  kEvicted,
  kVictimsWanted,
  kDefect,
  kPodGroup,
  kPlan,
  kFence,
  kRepair,
  kMembersLate,
  kPauses,
  kMissing,
  kRedeem,
  kVictims,
  kReserved,
  kEnd,
};

struct Step {
  enum class Kind {
    kAnswerLate,     // held Bind calls whose time is over: the binding may still come true
    kDrop,           // the plan broke
    kGiveBack,       // the plan, which nothing is wrong with
    kFail,           // the start failed
    kExpire,         // so it did: the whole reservation ran out
    kRefuse,         // so it did: kube-scheduler finds no node for a member
    kExpireMembers,  // those that did not come in time, beside bound ones
    kEndPauses,      // the gang pauses as a whole
    kRedeem,         // the victims are gone: earmarks become reservations
  };
  Kind kind = Kind::kDrop;
  std::string why = {};           // for held Bind calls
  Reason setback = {};            // of kFail, kExpire and kRefuse
  bool protect_victims = false;   // of kFail: those that stay are nobody's victims for now
  cluster::Time not_before = {};  // of kFail: the next try comes then at the earliest
};

struct Verdict {
  std::optional<Step> step;  // nothing: the verdict is final
  Stage resume = Stage::kEnd;
  Course course;

  bool keep = false;  // state and reason stay as they are
  GangState state = GangState::kForming;
  Reason reason;
  bool pending = false;         // it is to be planned
  bool untried = false;         // what was tried says nothing any more
  bool begins = false;          // it has its minimum
  bool asks_evictions = false;  // of its victims
  bool barrier_open = false;
  std::optional<cluster::Time> deadline;
};

// What a reservation that ran out says of a member that never came to Bind.
std::string NeverAskedAbout(const Member& member);
// What kube-scheduler has said of it, see WordsOn.
Reason WhyRefused(const Member& member);

// Tally and minimum of the gang must be of now.
Verdict Judge(const Gang& gang, const Surroundings& around, Stage from);

}  // namespace muster::engine
