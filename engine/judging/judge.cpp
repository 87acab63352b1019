#include "engine/judging/judge.hpp"

#include <algorithm>
#include <utility>

#include "engine/gangs/defect.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/judging/durations.hpp"
#include "engine/standing/refusals.hpp"
#include "engine/standing/show.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

bool Is(const Reason& reason) { return reason.code != ReasonCode::kNone; }

// One of the members may not be evicted: the gang is not taken back for now, and may become whole.
bool RepairRefused(const Gang& gang, const Course& course) {
  return course.repairing && !course.obstacle.empty() &&
         std::none_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
           return entry.second.writes->doing == WriteKind::kEvict;
         });
}

// Those that a move takes are gone, or on their way.
bool AllMoved(const Gang& gang, const Course& course) {
  return course.repairing && !course.moving.empty() &&
         std::none_of(course.moving.begin(), course.moving.end(), [&](const cluster::PodUid& uid) {
           const auto member = gang.members.find(uid);
           return member != gang.members.end() && CountsAsBound(member->second) &&
                  !member->second.pod->ending();
         });
}

class GangJudge {
 public:
  GangJudge(const Gang& gang, const Surroundings& around, Stage from)
      : gang_(gang), around_(around), from_(from) {
    verdict_.course = gang.course;
    verdict_.barrier_open = gang.plan->barrier_open;
    verdict_.deadline = gang.plan->deadline;
  }

  Verdict Judge();

 private:
  Course& course() { return verdict_.course; }
  // The stage was not passed yet.
  bool At(Stage stage) const { return from_ <= stage; }
  Verdict Take(Stage stage, Step step);
  Verdict Drop(Stage stage, std::string why);
  Verdict Final(GangState state, Reason reason);
  bool HeldTooLong() const;
  int64_t AtBind() const;
  Reason Expired(int64_t arrived) const;
  Step ExpiryOf(int64_t arrived) const;
  const Member* RefusedMember() const;
  bool FollowDeadlines();
  Reason Preempted() const;
  Reason Binding(int64_t have) const;
  // When a time began, in which no turn passes that a member waits for.
  Time Begun(Time at) const { return around_.turns ? std::max(at, around_.turns->since) : at; }
  // Of a reservation: it begins anew when the pods may be released that waited for that.
  Time ReservedSince(Time planned) const {
    const bool waited = around_.release && planned >= around_.release->planned;
    return Begun(waited ? std::max(planned, around_.release->since) : planned);
  }
  Verdict Started();
  void PassPartialTime(bool waits);
  Verdict Repair(int64_t have, int64_t need);
  Verdict Partial();
  Verdict Unbound();
  Reason WithoutGroup() const;
  std::string WhyLost() const;
  Reason Missing(int64_t lacks) const;
  Verdict Incomplete(int64_t lacks);
  std::string ReleasedLater() const;
  Verdict Reserved();
  Verdict Preempting();

  const Gang& gang_;
  const Surroundings& around_;
  const Stage from_;
  Verdict verdict_;
};

Verdict GangJudge::Take(Stage stage, Step step) {
  verdict_.step = std::move(step);
  verdict_.resume = static_cast<Stage>(static_cast<int>(stage) + 1);
  return std::move(verdict_);
}

Verdict GangJudge::Drop(Stage stage, std::string why) {
  return Take(stage, {Step::Kind::kDrop, "muster: " + std::move(why)});
}

Verdict GangJudge::Final(GangState state, Reason reason) {
  verdict_.state = state;
  verdict_.reason = std::move(reason);
  return std::move(verdict_);
}

bool GangJudge::HeldTooLong() const {
  return std::any_of(gang_.members.begin(), gang_.members.end(), [&](const auto& entry) {
    const std::vector<HeldBind>& held = entry.second.writes->held;
    return std::any_of(held.begin(), held.end(),
                       [&](const HeldBind& one) { return one.answer_by <= around_.now; });
  });
}

// Members whose Bind call is held.
int64_t GangJudge::AtBind() const {
  return std::count_if(gang_.members.begin(), gang_.members.end(),
                       [](const auto& entry) { return !entry.second.writes->held.empty(); });
}

// Names a member that never came: its scheduler may never ask.
Reason GangJudge::Expired(int64_t arrived) const {
  Reason reason = Because(ReasonCode::kReservationExpired, arrived, gang_.minimum.members);
  if (around_.turns) reason.detail = around_.turns->why;
  if (!gang_.plan->all_nominated) return reason;  // nobody was to ask yet
  for (const auto& [uid, member] : gang_.members) {
    if (!member.planned() || member.plan->bind_seen || member.pod->gated_by_muster()) continue;
    if (WordsOn(*member.pod) != nullptr) return WhyRefused(member);
    if (reason.detail.empty() || around_.turns) reason.detail = NeverAskedAbout(member);
  }
  return reason;
}

// kube-scheduler writes a sentence once: where it came before the plan, silence means the same.
Step GangJudge::ExpiryOf(int64_t arrived) const {
  Reason why = Expired(arrived);
  const bool refused = why.code == ReasonCode::kRefused;
  return {refused ? Step::Kind::kRefuse : Step::Kind::kExpire, "", std::move(why)};
}

// kube-scheduler finds no node for it, and has not changed its mind.
const Member* GangJudge::RefusedMember() const {
  const auto refused = std::find_if(gang_.members.begin(), gang_.members.end(), [&](const auto& e) {
    const std::optional<Time>& at = e.second.plan->refused_at;
    return e.second.planned() && at && *at + Refusals::kStands <= around_.now;
  });
  return refused == gang_.members.end() ? nullptr : &refused->second;
}

Reason GangJudge::Preempted() const {
  return Is(around_.evicted_for) ? around_.evicted_for : Because(ReasonCode::kPreempted);
}

Reason GangJudge::Binding(int64_t have) const {
  return Because(ReasonCode::kBinding, have, gang_.minimum.members,
                 around_.turns ? around_.turns->why : "");
}

// Why nothing says how many it needs; kNone: something does.
Reason GangJudge::WithoutGroup() const {
  if (gang_.id.solo) return {};
  if (around_.group == nullptr)
    return Because(ReasonCode::kPodGroupMissing, 0, 0, gang_.id.key.ToString());
  if (around_.group->unreadable.empty()) return {};
  return Because(ReasonCode::kOwnersUnread, 0, 0, around_.group->unreadable);
}

Verdict GangJudge::Judge() {
  const Tally& tally = gang_.tally;
  if (At(Stage::kHeldCalls) && HeldTooLong()) {
    if (gang_.plan->barrier_open || tally.bound_of_muster > 0) {
      return Take(Stage::kHeldCalls,
                  {Step::Kind::kAnswerLate,
                   around_.turns && !around_.turns->why.empty()
                       ? "muster: the pod waits for its turn: " + around_.turns->why
                       : "muster: the API server has not confirmed the binding in time"});
    }
    return Take(Stage::kHeldCalls, ExpiryOf(AtBind() + tally.bound + tally.succeeded));
  }
  if (tally.bound_of_muster + tally.leaving == 0) course().EndRepair();
  // All bound members leave: no other member joins them.
  if (At(Stage::kEvicted) && tally.bound_of_muster > 0 && tally.staying == 0 && tally.planned > 0)
    return Drop(Stage::kEvicted, "the gang is being evicted for another gang");
  const bool waits =
      tally.bound_of_muster == 0 && tally.planned > 0 && Need(gang_, Counting::kBound) > 0;
  if (At(Stage::kVictimsWanted) && around_.victims && !waits)
    return Drop(Stage::kVictimsWanted, "the preemption for this gang ended");

  if (Reason defect = DefectOf(gang_, around_.group, around_.options); Is(defect)) {
    if (At(Stage::kDefect)) return Drop(Stage::kDefect, Describe(defect));
    course().partial_since.reset();  // of what, nobody can say
    course().EndRepair();
    return Final(GangState::kInvalid, std::move(defect));
  }
  const bool over = gang_.past.has_run() && gang_.minimum.members == 0;
  if (tally.present() + tally.leaving == 0 && (tally.succeeded + tally.failed > 0 || over)) {
    course().partial_since.reset();
    return Final(GangState::kFinished, {});
  }
  if (const Reason unknown = WithoutGroup(); Is(unknown)) {
    // Pods that run keep running; nothing new is started without a PodGroup.
    if (At(Stage::kPodGroup)) return Drop(Stage::kPodGroup, Describe(unknown));
    course().partial_since.reset();
    course().EndRepair();
    if (tally.bound == 0) return Final(GangState::kForming, unknown);
    return Final(GangState::kRunning, around_.group == nullptr ? Reason{} : unknown);
  }
  if (At(Stage::kPlan) && !around_.plan_holds) {
    course().setback = Because(ReasonCode::kPlanBroken);
    return Drop(Stage::kPlan, "a planned node or pod changed, the gang is planned again");
  }
  if (At(Stage::kFence) && tally.planned > 0 && Is(around_.fence_bar)) {
    return Take(Stage::kFence, {Step::Kind::kGiveBack, "muster: " + Describe(around_.fence_bar)});
  }
  if (Need(gang_, Counting::kBound) == 0) return Started();
  if (tally.bound_of_muster > 0) return Partial();
  course().partial_since.reset();
  return Unbound();
}

// Beside bound members each reservation has a deadline of its own. False: one has passed.
bool GangJudge::FollowDeadlines() {
  verdict_.deadline.reset();
  if (gang_.tally.planned == 0) return true;
  for (const auto& [uid, member] : gang_.members) {
    if (!member.planned() || member.may_be_bound()) continue;
    Time due = ReservedSince(member.plan->made_at) +
               HeldAfter(around_.reservation_timeout, member.plan->expiries);
    if (member.plan->refused_at) due = std::min(due, *member.plan->refused_at + Refusals::kStands);
    if (due <= around_.now) return false;
    verdict_.deadline = std::min(verdict_.deadline.value_or(due), due);
  }
  return true;
}

// min_member are bound (or have succeeded); members beyond it are elastic.
Verdict GangJudge::Started() {
  const Tally& tally = gang_.tally;
  if (!FollowDeadlines() && At(Stage::kMembersLate))
    return Take(Stage::kMembersLate, {Step::Kind::kExpireMembers});
  course().Start();
  verdict_.begins = true;
  const bool wants_more = tally.pending > tally.planned && tally.staying == tally.bound_of_muster;
  verdict_.pending = wants_more && !course().backoff_until && !course().replan_from &&
                     !Is(around_.namespace_bar) && !Is(around_.fence_bar);
  return Final(GangState::kRunning, {});
}

// While it may not be completed no time passes, and none has when that ends. `waits`: for room.
void GangJudge::PassPartialTime(bool waits) {
  const bool barred = Is(around_.fence_bar) || !around_.stale_resources.empty();
  const bool awaits = AwaitsController(gang_, around_.group);
  const bool anew = barred || course().barred || (course().awaits && !awaits);
  if (!course().repairing && anew) course().partial_since = around_.now;
  if (!course().repairing && waits) course().partial_since.reset();
  if (course().partial_since) course().partial_since = Begun(*course().partial_since);
  course().barred = barred;
  course().awaits = awaits;
}

// Its bound members go, so that they do not hold what they cannot use.
Verdict GangJudge::Repair(int64_t have, int64_t need) {
  if (!course().repairing) {
    course().BeginRepair(Because(ReasonCode::kRepairing, have, need), around_.options, around_.now);
  }
  if (At(Stage::kRepair)) {
    return Take(Stage::kRepair,
                {Step::Kind::kGiveBack, "muster: the gang was partially bound for too long"});
  }
  const bool keeps_others = course().repairing && !course().moving.empty();
  return Final(keeps_others ? GangState::kDegraded : GangState::kBackoff, course().setback);
}

// Some members are bound, but fewer than the gang wants.
Verdict GangJudge::Partial() {
  const Tally& tally = gang_.tally;
  const Options& options = around_.options;
  const Time now = around_.now;
  const int64_t have = tally.bound + tally.succeeded;
  const int64_t need = gang_.minimum.members;
  FollowPartial(gang_, course(), options.partial_timeout, now);
  const bool keeps_rest = KeepsRest(gang_, around_.group);
  // What it began with is bound: the rest comes together.
  const bool rest_comes = Grows(gang_, around_.group) && !course().repairing;
  const PartialGang rule = keeps_rest || rest_comes ? PartialGang::kHold : options.partial_gang;
  if (rule == PartialGang::kHold && !course().relocating) course().EndRepair();
  if (AllMoved(gang_, course())) {
    course().EndRepair();
    course().partial_since = now;
  }
  if (Need(gang_, Counting::kReady) > 0) course().cramped = false;
  const bool waits = course().cramped && options.lost_member != LostMember::kPartialGang;
  PassPartialTime(waits || rest_comes);
  if (Is(around_.fence_bar) && !course().repairing)
    return Final(GangState::kDegraded, around_.fence_bar);
  if (RepairRefused(gang_, course())) {
    course().EndRepair();
    course().backoff_until.reset();
    course().partial_since = now + BackoffAfter(course().attempts, options);
  }
  const bool overdue =
      course().partial_since &&
      *course().partial_since + PartialTimeout(gang_, around_.group, options) <= now;
  if (course().repairing || (overdue && rule == PartialGang::kEvict)) return Repair(have, need);
  if (!FollowDeadlines() && At(Stage::kMembersLate))
    return Take(Stage::kMembersLate, {Step::Kind::kExpireMembers});
  // To wait for all of the rest keeps nothing whole any more.
  verdict_.barrier_open = true;
  if (Need(gang_, Counting::kPlanned) == 0) return Final(GangState::kBinding, Binding(have));
  // Victims that leave already hold nobody up.
  if (tally.staying < tally.bound_of_muster) return Final(GangState::kDegraded, Preempted());
  const int64_t lacks = Need(gang_, Counting::kReady);
  const bool one_by_one = ComesBackOneByOne(gang_, around_.group);
  const bool plannable = one_by_one ? tally.pending > tally.planned : lacks == 0;
  verdict_.pending = plannable && !course().replan_from && !Is(around_.namespace_bar);
  // A reason found by planning says more than that members are missing, once all are there.
  verdict_.keep =
      verdict_.pending && lacks == 0 && gang_.state == GangState::kDegraded && gang_.queue->tried;
  const bool late =
      tally.pausing > 0 && (course().setback.code == ReasonCode::kReservationExpired ||
                            course().setback.code == ReasonCode::kRefused);
  if (rest_comes && !verdict_.keep && !late) {
    if (!plannable) return Final(GangState::kRunning, Missing(lacks));
    return Final(Is(around_.namespace_bar) ? GangState::kDegraded : GangState::kRunning,
                 around_.namespace_bar);
  }
  return Final(GangState::kDegraded,
               late ? course().setback : Because(ReasonCode::kMembersLost, have, need, WhyLost()));
}

// Why nobody comes in the place of lost members, as far as that is known.
std::string GangJudge::WhyLost() const {
  const std::string& obstacle = verdict_.course.obstacle;
  if (!obstacle.empty()) return obstacle;
  return Is(around_.volume_bar) ? around_.volume_bar.detail : around_.quota_bar.detail;
}

// Nothing is bound: the gang starts as a whole or not at all, and pauses as a whole.
Verdict GangJudge::Unbound() {
  const Tally& tally = gang_.tally;
  if (At(Stage::kPauses) && tally.pausing > 0)
    return Take(Stage::kPauses, {Step::Kind::kEndPauses});
  if (At(Stage::kMissing) && tally.planned > 0 && Need(gang_, Counting::kPlanned) > 0)
    return Drop(Stage::kMissing, "members of the gang are gone");
  if (around_.victims) return Preempting();
  if (tally.planned > 0) return Reserved();
  verdict_.barrier_open = false;
  if (Is(around_.evicted_bar) && tally.victims == 0) {
    course().EndRepair();
    return Final(GangState::kForbidden, around_.evicted_bar);
  }
  if (const int64_t lacks = Need(gang_, Counting::kReady); lacks > 0) return Incomplete(lacks);
  course().EndRepair();  // the old ones may still be leaving: a dead node keeps them for ever
  if (Is(around_.namespace_bar)) return Final(GangState::kForbidden, around_.namespace_bar);
  if (!course().queued_at) course().queued_at = around_.now;
  if (course().backoff_until) return Final(GangState::kBackoff, course().setback);
  if (Is(around_.fence_bar)) return Final(GangState::kQueued, around_.fence_bar);
  if (Is(around_.hold_bar)) return Final(GangState::kQueued, around_.hold_bar);
  verdict_.pending = true;
  verdict_.keep = gang_.queue->tried &&
                  (gang_.state == GangState::kQueued || gang_.state == GangState::kUnsatisfiable);
  return Final(GangState::kQueued,
               around_.stale_resources.empty()
                   ? Because(ReasonCode::kNotTried)
                   : Because(ReasonCode::kWatchStale, 0, 0, around_.stale_resources));
}

// Why it has fewer members than it needs that could be planned.
Reason GangJudge::Missing(int64_t lacks) const {
  const Tally& tally = gang_.tally;
  const int64_t here = tally.pending + tally.succeeded + tally.bound;
  if (Is(around_.volume_bar)) {
    Reason reason = around_.volume_bar;
    reason.have = here;
    reason.need = here + lacks;
    return reason;
  }
  if (Need(gang_, Counting::kPresent) == 0) {
    return Because(
        tally.gated_by_others > 0 ? ReasonCode::kGatedByOthers : ReasonCode::kPlacedByOthers, here,
        here + lacks);
  }
  if (!around_.other_schedulers.empty())
    return Because(ReasonCode::kOtherScheduler, here, here + lacks, around_.other_schedulers);
  if (Is(around_.quota_bar)) return around_.quota_bar;
  return Because(ReasonCode::kWaitingForMembers, here, here + lacks, verdict_.course.evicted_for);
}

Verdict GangJudge::Incomplete(int64_t lacks) {
  const Tally& tally = gang_.tally;
  course().queued_at.reset();
  verdict_.untried = true;
  if (course().repairing) return Final(GangState::kBackoff, course().setback);
  if (tally.victims > 0) return Final(GangState::kForming, Preempted());
  return Final(GangState::kForming, Missing(lacks));
}

// Others are released first; empty: none are.
std::string GangJudge::ReleasedLater() const {
  if (!around_.release || !around_.release->waits) return {};
  return "after " + std::to_string(around_.release->under_way) +
         " pods of other gangs that are on their way through kube-scheduler";
}

// Nothing bound yet and a whole plan: on the way from nomination to the barrier.
Verdict GangJudge::Reserved() {
  int64_t arrived = 0;
  const int64_t there = gang_.tally.succeeded + gang_.tally.bound;
  int64_t nominated = 0;
  int64_t released = 0;
  int64_t binding = 0;
  for (const auto& [uid, member] : gang_.members) {
    if (!member.planned()) continue;
    arrived += member.writes->held.empty() && !member.may_be_bound() ? 0 : 1;
    binding += member.may_be_bound() ? 1 : 0;
    nominated += member.plan->nominated ? 1 : 0;
    released += member.pod->gated_by_muster() ? 0 : 1;
  }
  verdict_.barrier_open = gang_.plan->barrier_open || Need(gang_, Counting::kArrived) == 0;
  if (At(Stage::kReserved) && binding == 0) {
    const bool refused = course().setback.code == ReasonCode::kBindFailed;
    if (verdict_.barrier_open && refused && arrived == 0)
      return Take(Stage::kReserved, {Step::Kind::kFail, "", course().setback});
    if (verdict_.deadline) {
      const Time due = ReservedSince(gang_.plan->made_at) + around_.reservation_timeout;
      verdict_.deadline = std::max(*verdict_.deadline, due);
    }
    const Member* without_node = verdict_.barrier_open ? nullptr : RefusedMember();
    if (without_node != nullptr)
      return Take(Stage::kReserved, {Step::Kind::kRefuse, "", WhyRefused(*without_node)});
    if (verdict_.deadline && *verdict_.deadline <= around_.now)
      return Take(Stage::kReserved, ExpiryOf(arrived + there));
  }
  const int64_t need = gang_.minimum.members;
  if (verdict_.barrier_open) return Final(GangState::kBinding, Binding(there));
  Reason reason = Because(ReasonCode::kWaitingForBind, arrived + there, need);
  if (!gang_.plan->all_nominated) {
    reason = Because(ReasonCode::kNominating, nominated, gang_.tally.planned);
  } else if (released < gang_.tally.planned) {
    reason = Because(ReasonCode::kReleasing, released, gang_.tally.planned, ReleasedLater());
  }
  return Final(GangState::kReserved, std::move(reason));
}

// First all members are nominated, so that kube-scheduler too keeps what becomes free for them;
// then the victims are evicted; when they are gone the gang is Reserved.
Verdict GangJudge::Preempting() {
  const VictimsLeft& victims = *around_.victims;
  if (At(Stage::kRedeem) && victims.gone == victims.need)
    return Take(Stage::kRedeem, {Step::Kind::kRedeem});
  const bool refused = !victims.obstacle.empty() && !victims.begun && !victims.under_way;
  // Who was given a longer grace is waited for: others would be evicted beside those that go, and
  // these again when they are back.
  verdict_.deadline = std::max(*gang_.plan->deadline, victims.until);
  const bool late = around_.stale_resources.empty() && *verdict_.deadline <= around_.now;
  if (At(Stage::kVictims) && (refused || late)) {
    std::string why = victims.obstacle;
    if (why.empty() && !victims.asked) why = "not all of its members could be nominated";
    Step step{Step::Kind::kFail};
    step.setback = Because(ReasonCode::kVictimsStay, victims.gone, victims.need, std::move(why));
    step.protect_victims = late && victims.asked;
    step.not_before = refused ? victims.not_before : Time();
    return Take(Stage::kVictims, std::move(step));
  }
  if (At(Stage::kVictims) && !victims.wanted) {
    return Drop(Stage::kVictims, "the chosen victims changed, the gang is planned again");
  }
  // Evictions that are still under way from an earlier try are awaited, so that all are requested
  // together.
  verdict_.asks_evictions = gang_.plan->all_nominated && !victims.asked &&
                            around_.stale_resources.empty() && !victims.under_way;
  std::string gangs = victims.gangs;
  // Longer than Muster gives them, and perhaps a moment.
  if (victims.asked && victims.until > *gang_.plan->deadline + kLate + kLate)
    gangs += "; their pods were given until " + ShowTime(victims.until);
  return Final(GangState::kPreempting,
               Because(ReasonCode::kVictimsLeaving, victims.gone, victims.need, std::move(gangs)));
}

}  // namespace

std::string NeverAskedAbout(const Member& member) {
  return "kube-scheduler has not asked to bind " + member.key.name;
}

Reason WhyRefused(const Member& member) {
  const std::string* words = WordsOn(*member.pod);
  const std::string said = words == nullptr || words->empty() ? "it is Unschedulable" : *words;
  return Because(ReasonCode::kRefused, 0, 0, "pod " + member.key.name + ": " + said);
}

Verdict Judge(const Gang& gang, const Surroundings& around, Stage from) {
  return GangJudge(gang, around, from).Judge();
}

}  // namespace muster::engine
