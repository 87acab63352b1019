#include "engine/standing/reminders.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/gangs/rank.hpp"
#include "engine/reasons/cause_words.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::Time;

namespace {

// Nodes that are looked at within a millisecond, on the average.
constexpr int64_t kNodesAMillisecond = 1;

bool SaysWhy(ReasonCode code) { return code != ReasonCode::kNone && code != ReasonCode::kNotTried; }

bool WaitsGated(const Member& member) {
  return member.ours && !member.pod->ending() && !member.pod->bound() &&
         member.pod->gated_by_muster() && !member.planned();
}

// In the order of their ranks.
std::vector<Member*> GatedMembers(Gang& gang) {
  std::vector<Member*> members;
  for (auto& [uid, member] : gang.members) {
    if (WaitsGated(member)) members.push_back(&member);
  }
  const std::vector<uint32_t> ranks = RanksOf({members.begin(), members.end()});
  std::vector<Member*> ordered(members.size());
  for (size_t i = 0; i < members.size(); ++i) ordered.at(ranks[i]) = members[i];
  return ordered;
}

}  // namespace

// One after the other; `from` where that would be too late.
Time Reminders::Slot(Time& last, Time from) {
  const Time slot = std::max(from, last + kBetween);
  if (slot > from + kSlack) return from;
  last = slot;
  return slot;
}

void Reminders::Waits(Gang& gang, Time now) {
  if (again_ == Duration(0)) return;
  Reminder& reminder = gang.reminder.value_;
  reminder.event = Slot(last_event_, now + again_);
  reminder.looked = false;
  reminder.members = Time::Never();
  if (gang.id.solo || !SaysWhy(gang.reason.code)) return;
  Time from = now + kMembersAfter;
  if (reminder.told_at != Time::Never()) from = std::max(from, reminder.told_at + again_);
  reminder.members = Slot(last_members_, from);
}

void Reminders::Stops(Gang& gang) {
  gang.reminder.value_.event = Time::Never();
  gang.reminder.value_.members = Time::Never();
}

Time Reminders::due(const Gang& gang) {
  const Reminder& reminder = *gang.reminder;
  const bool looks = !reminder.looked && reminder.event != Time::Never();
  return std::min(looks ? reminder.event + Duration(-kLookBefore.value()) : reminder.event,
                  reminder.members);
}

void Reminders::Postpone(Gang& gang, Time until) {
  Reminder& reminder = gang.reminder.value_;
  if (reminder.event < until) reminder.event = until;
  if (reminder.members < until) reminder.members = until;
}

bool Reminders::TakeLook(Gang& gang, Time now) {
  Reminder& reminder = gang.reminder.value_;
  if (reminder.event == Time::Never() || now < reminder.event + Duration(-kLookBefore.value()))
    return false;
  return !std::exchange(reminder.looked, true);
}

bool Reminders::TakeEvent(Gang& gang, Time now) {
  Reminder& reminder = gang.reminder.value_;
  if (reminder.event > now) return false;
  reminder.event = Slot(last_event_, now + again_);
  reminder.looked = false;
  // Those that came since are told along.
  if (reminder.members == Time::Never() && SaysWhy(gang.reason.code) && !gang.id.solo)
    reminder.members = now;
  return true;
}

void Reminders::TellMembers(Gang& gang, Time now) {
  Reminder& reminder = gang.reminder.value_;
  if (reminder.members > now) return;
  const ReasonCode code = gang.reason.code;
  std::vector<Member*> members = GatedMembers(gang);
  std::erase_if(members, [code](const Member* member) { return *member->told == code; });
  const bool more = members.size() > kAtOnce;
  if (more) members.resize(kAtOnce);
  reminder.members = more ? Slot(last_members_, now + kMembersAfter) : Time::Never();
  const std::string message =
      CutAtClause("muster: gang " + gang.id.key.ToString() +
                      " waits: " + std::string(ToString(code)) + ": " + Describe(gang.reason),
                  kMessageBytes);
  for (Member* member : members) {
    member->told.value_ = code;
    writes_.Ask(TellPod{writes_.NextId(), {member->key, member->uid}, message});
  }
  if (!members.empty()) reminder.told_at = now;
}

bool Reminders::Unsay(Member& member) {
  return std::exchange(member.told.value_, ReasonCode::kNone) != ReasonCode::kNone;
}

void Reminders::Put(const Gang& gang, EmitEvent event) {
  const bool for_room = gang.reason.shortage.get() != nullptr;
  if (again_ == Duration(0) || !for_room) {
    writes_.Ask(std::move(event));
  } else {
    held_.push_back({gang.id, std::move(event)});
  }
}

std::optional<Reminders::Held> Reminders::Next() {
  if (held_.empty()) return std::nullopt;
  Held next = std::move(held_.front());
  held_.pop_front();
  return next;
}

bool Reminders::MaySearch(size_t nodes, Time now) {
  if (now < search_from_) return false;
  const auto takes = static_cast<int64_t>(nodes) / kNodesAMillisecond;
  search_from_ = now + std::max(kBetween, Duration(takes));
  return true;
}

std::string WithClause(const std::string& message, const std::string& clause) {
  const std::string tail = "; " + clause;
  if (tail.size() > kMessageBytes / 2) return CutAtClause(message, kMessageBytes);
  return CutAtClause(message, kMessageBytes - tail.size()) + tail;
}

}  // namespace muster::engine
