#include "engine/standing/announcer.hpp"

#include <algorithm>
#include <utility>

#include "engine/gangs/defect.hpp"
#include "engine/gangs/inherited.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/reasons/cause_words.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::GangRecord;
using cluster::Time;

namespace {

constexpr Duration kPublishAfter = cluster::Seconds(5);
// Where others come and go, a gang lacks room now for this reason, now for that one: what was
// written of it stays for so long.
constexpr Duration kPublishRoomAgain = cluster::Seconds(300);
// How much later a gang may have become partial without a write that says so.
constexpr Duration kSinceStep = cluster::Seconds(10);
// A record that somebody took away, or that our own write has not brought yet, is written again
// after this.
constexpr Duration kRecordAgain = cluster::Seconds(30);

bool Lasting(GangState state) {
  return state != GangState::kForming && state != GangState::kQueued &&
         state != GangState::kReserved && state != GangState::kBinding;
}

bool Warns(GangState state) {
  return state != GangState::kRunning && state != GangState::kFinished &&
         state != GangState::kReserved && state != GangState::kBinding;
}

int64_t Done(const Gang& gang) {
  return gang.tally.bound + gang.tally.succeeded + gang.tally.failed;
}

// What is to be written of the gang's past.
GangRecord RecordOf(const Gang& gang, bool grows) {
  if (gang.id.solo) return {};
  const GangRecord& known = gang.published->record;
  if (!gang.past.has_run()) return gang.past.Record({}, {}, Time(0));
  // What is still to come of one that grows was not lost.
  const cluster::Headcount wanted = grows ? gang.past.Wanted(gang.past.whole()) : gang.minimum;
  GangRecord record = gang.past.Record(wanted, LackingOf(gang, wanted),
                                       gang.course.partial_since.value_or(Time(0)));
  const Duration later = record.lost_since - known.lost_since;
  const bool about_then = later >= Duration(0) && later < kSinceStep;
  if (record.lost == known.lost && about_then) record.lost_since = known.lost_since;
  return record;
}

// A member that ended well takes nothing from the others: not worth a write of its own until all
// have ended, where a next process would know without one.
bool WorthAWrite(const Gang& gang, const GangRecord& record) {
  const GangRecord& known = gang.published->record;
  if (record == known) return false;
  const bool same = record.has_run && known.has_run && record.started == known.started &&
                    record.evicted == known.evicted &&
                    record.whole.members == known.whole.members && record.lost == known.lost &&
                    record.lost == cluster::Headcount{} && record.owners == known.owners &&
                    gang.minimum.members > 0;
  if (!same) return true;
  const cluster::Headcount shows = Inherited(gang, known).ended();
  return Minus(record.ended, shows) != cluster::Headcount{};
}

}  // namespace

void Announcer::Follow(Gang& gang, Time now) {
  Published& published = gang.published.value_;
  if (gang.state != published.seen_state || gang.reason.code != published.seen_reason) {
    published.seen_state = gang.state;
    published.seen_reason = gang.reason.code;
    published.changed_at = now;
  }
  if (gang.tally.malformed == 0 || gang.state == GangState::kInvalid) return;
  std::string first;
  for (auto& [uid, member] : gang.members) {
    std::string& told = member.reported_defect.value_;
    if (!member.malformed()) continue;
    std::string defect = DefectOf(*member.pod);
    if (told == defect) continue;
    told = std::move(defect);
    if (first.empty()) first = "pod " + member.key.name + " is left out: " + told;
  }
  if (!first.empty()) Tell(gang, true, "GangMemberLeftOut", first);
}

// Muster speaks of a gang that has a member of its own, that was given to it, or of which it has
// spoken.
bool Announcer::Speaks(const Gang& gang) const {
  if (gang.tally.of_muster > 0 || gang.published->state) return true;
  const cluster::PodGroup* group = members_.GroupOf(gang);
  return group != nullptr && group->claimed;
}

// When the gang's present state should be written; nothing when it was.
std::optional<Time> Announcer::PublishAt(const Gang& gang) const {
  if (!Speaks(gang)) return std::nullopt;
  const Published& published = *gang.published;
  const bool counts = (gang.running() || gang.state == GangState::kFinished) && !gang.id.solo;
  const bool same =
      published.state == gang.state && published.reason == gang.reason.code &&
      (!counts || (published.done == Done(gang) && published.succeeded == gang.tally.succeeded));
  if (same) return std::nullopt;
  const bool at_once = Lasting(gang.state) && published.state != gang.state;
  if (at_once) return published.changed_at;
  const Time at = published.changed_at + kPublishAfter;
  // What is kept for others is a moment's cause, with its time in it.
  const auto lacks = [](ReasonCode code) {
    return LacksRoom(code) && code != ReasonCode::kReserved;
  };
  const bool room = published.state == gang.state && !counts && lacks(published.reason) &&
                    lacks(gang.reason.code);
  return room ? std::max(at, published.said_at + kPublishRoomAgain) : at;
}

Time Announcer::due(const Gang& gang) const {
  Time due = PublishAt(gang).value_or(Time::Never());
  if (gang.published->record_differs)
    due = std::min(due, gang.published->recorded_at + kRecordAgain);
  return std::min(due, Reminders::due(gang));
}

void Announcer::Publish(Gang& gang, Time now) {
  PublishState(gang, now);
  Remind(gang, now);
}

void Announcer::Remind(Gang& gang, Time now) {
  if (Reminders::due(gang) > now) return;
  const Published& published = *gang.published;
  if (published.state != gang.state || published.reason != gang.reason.code) {
    const Time at = PublishAt(gang).value_or(now);
    return Reminders::Postpone(gang, std::max(at, now + kPublishAfter));
  }
  if (reminders_.TakeEvent(gang, now)) TellWhy(gang);
  reminders_.TellMembers(gang, now);
}

void Announcer::TellWhy(const Gang& gang) {
  auto event =
      EventOn(gang, true, "Gang" + std::string(ToString(gang.state)), Describe(gang.reason));
  if (!event) return;
  event->message = CutAtClause(event->message, kMessageBytes);
  reminders_.Put(gang, *std::move(event));
}

void Announcer::PublishState(Gang& gang, Time now) {
  const std::optional<Time> due = PublishAt(gang);
  const bool state_due = due && *due <= now;
  const cluster::PodGroup* group = members_.GroupOf(gang);
  const bool object = group != nullptr && !group->declared;
  Published& published = gang.published.value_;
  if (published.record_differs && published.recorded_at + kRecordAgain <= now) {
    published.record_differs = false;
    if (object) published.record = group->record;
  }
  const GangRecord record = RecordOf(gang, Grows(gang, members_.GroupOf(gang)));
  if (!state_due && !(Speaks(gang) && WorthAWrite(gang, record))) return;
  if (object) {
    if (record != published.record) published.recorded_at = now;
    published.record = record;  // the status goes, so that does as well
    writes_.Ask(PatchGang{gang.id.key, cluster::PodGroupUid(gang.group_uid), ToString(gang.state),
                          ToString(gang.reason.code), Describe(gang.reason), gang.tally.bound,
                          gang.tally.succeeded, gang.tally.failed, record});
  }
  if (!state_due) return;
  const bool changed = published.state != gang.state || published.reason != gang.reason.code;
  published.state = gang.state;
  published.reason = gang.reason.code;
  published.said_at = now;
  published.done = Done(gang);
  published.succeeded = gang.tally.succeeded;
  if (!changed) return;
  if (Warns(gang.state)) {
    waits_.push_back({gang.id, gang.state, gang.reason.code, Describe(gang.reason)});
    TellWhy(gang);
    return reminders_.Waits(gang, now);
  }
  Reminders::Stops(gang);
  if (gang.running() && !gang.id.solo)
    Tell(gang, false, "GangRunning", std::to_string(gang.tally.bound) + " members are bound");
}

void Announcer::TellFault(Gang& gang, const std::string& fault) {
  std::string& told = gang.published.value_.duration_fault;
  if (told == fault) return;
  told = fault;
  if (!fault.empty()) Tell(gang, true, "GangDurationUnreadable", "it is planned without " + fault);
}

void Announcer::TellNotHonoured(Gang& gang) {
  if (!Speaks(gang)) return;
  std::string text;
  for (const std::string& one : gang.terms.not_honoured) text += (text.empty() ? "" : "; ") + one;
  std::string& told = gang.published.value_.not_honoured;
  // Without pods it says less, and the next ones say the same again.
  if (told == text || (gang.members.empty() && !told.empty())) return;
  told = text;
  if (!text.empty()) Tell(gang, true, "GangNotHonoured", "has no effect: " + text);
}

void Announcer::Tell(const Gang& gang, bool warning, std::string reason, std::string message) {
  auto event = EventOn(gang, warning, std::move(reason), std::move(message));
  if (event) writes_.Ask(*std::move(event));
}

std::optional<EmitEvent> Announcer::EventOn(const Gang& gang, bool warning, std::string reason,
                                            std::string message) const {
  const cluster::PodGroup* group = members_.GroupOf(gang);
  const bool object = group != nullptr && !group->declared;
  EmitEvent event{gang.id.key, gang.group_uid,    !object,
                  warning,     std::move(reason), std::move(message)};
  if (!object) {
    // Without an object the first member speaks for all.
    const auto first = std::min_element(
        gang.members.begin(), gang.members.end(),
        [](const auto& a, const auto& b) { return a.second.key.name < b.second.key.name; });
    if (first == gang.members.end()) return std::nullopt;
    event.key = first->second.key;
    event.uid = first->first.text();
    if (!gang.id.solo) event.message = "gang " + gang.id.key.ToString() + ": " + event.message;
  }
  return event;
}

bool Announcer::Carry(Gang& gang) {
  const cluster::PodGroup* group = members_.GroupOf(gang);
  if (group == nullptr || !group->declared) return false;
  GangRecord record = RecordOf(gang, Grows(gang, members_.GroupOf(gang)));
  // Bound pods carry it. Where none is, those that wait do: nothing else tells of members that have
  // ended.
  if (gang.tally.bound == 0 || WorthAWrite(gang, record))
    gang.published.value_.record = std::move(record);
  return true;
}

void Announcer::Read(Gang& gang, const GangRecord& record) {
  gang.published.value_.record_differs = gang.past.adopted() && record != gang.published->record;
}

void Announcer::Adopted(Gang& gang, const GangRecord& record) {
  gang.published.value_.record = record;
}

void Announcer::Forget(Gang& gang) {
  const Published before = std::exchange(gang.published.value_, {});
  gang.published.value_.seen_state = before.seen_state;
  gang.published.value_.seen_reason = before.seen_reason;
  gang.published.value_.changed_at = before.changed_at;
  gang.published.value_.recorded_at = before.recorded_at;
  Reminders::Stops(gang);
}

}  // namespace muster::engine
