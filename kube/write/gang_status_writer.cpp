#include "kube/write/gang_status_writer.hpp"

#include <algorithm>

#include "kube/api/refusal.hpp"
#include "kube/dialects/gang_record.hpp"
#include "kube/write/gang_status.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Duration;
using cluster::Error;
using cluster::MutexLock;
using cluster::PodGroupUid;
using cluster::Result;
using cluster::Seconds;
using cluster::Time;
using engine::PatchGang;

namespace {

constexpr Duration kBetweenMessages = Seconds(60);
constexpr int kConflictsAtOnce = 5;
// Half a minute: an API server that has just started knows no roles, and a webhook comes back.
constexpr int kFailuresUnsaid = 6;
// In one namespace, of records and of statuses.
constexpr int kAtATime = 2;
// Statuses leave as many threads to records.
constexpr int kForRecords = 2;
// Below the margin of LeaderElection::MayWrite.
constexpr std::chrono::milliseconds kStatusTimeout{3500};

Duration BackOff(int failures) {
  return Duration(std::min<int64_t>(60'000, int64_t{500} << std::min(failures, 10)));
}

}  // namespace

GangStatusWriter::GangStatusWriter(Ports ports) : ports_(std::move(ports)) {}

void GangStatusWriter::Begin(Time now) {
  const MutexLock lock(mu_);
  ++term_;
  entries_.clear();
  for (auto& line : lines_) line.Clear();
  begun_ = now;
}

void GangStatusWriter::DropLocked(Entry& entry, size_t part) {
  Part& of = entry.parts[part];
  if (of.at == At::kTaken) return;
  if (of.at == At::kLine) lines_[part].Remove(entry.gang.key.ns, entry.gang.uid, of.due);
  of.at = At::kNowhere;
}

void GangStatusWriter::PutLocked(Entry& entry, size_t part, Time due) {
  DropLocked(entry, part);
  entry.parts[part].at = At::kLine;
  entry.parts[part].due = due;
  lines_[part].Put(entry.gang.key.ns, entry.gang.uid, due);
}

void GangStatusWriter::WantLocked(Entry& entry, size_t part, Time now) {
  Part& of = entry.parts[part];
  ++of.wanted;
  // After failures the next attempt keeps its time.
  const bool at_once = of.at == At::kNowhere || (of.at == At::kLine && of.failures == 0);
  if (at_once) PutLocked(entry, part, now);
}

void GangStatusWriter::Want(const PatchGang& gang, Time now) {
  const MutexLock lock(mu_);
  const auto [found, added] = entries_.try_emplace(gang.uid);
  Entry& entry = found->second;
  if (added) entry.written = begun_;
  entry.gang = gang;
  // A gang that has no record has none to take away as a rule: the look at its status tells.
  const std::string record = FormatGangRecord(gang.record);
  if (record != entry.record.value_or("")) WantLocked(entry, kRecord, now);
  WantLocked(entry, kStatus, now);
  // One GET does for both.
  const Part& first = entry.parts[kRecord];
  Part& status = entry.parts[kStatus];
  if (first.at == At::kLine && first.failures == 0 && status.at == At::kLine &&
      status.failures == 0) {
    DropLocked(entry, kStatus);
    status.at = At::kBehind;
  }
}

GangStatusWriter::Counts GangStatusWriter::counts() const {
  const MutexLock lock(mu_);
  Counts counts = counts_;
  for (const auto& [uid, entry] : entries_) {
    const bool waits = std::any_of(entry.parts.begin(), entry.parts.end(),
                                   [](const Part& part) { return part.at != At::kNowhere; });
    if (waits) ++counts.waiting;
  }
  return counts;
}

std::optional<GangStatusWriter::Taken> GangStatusWriter::Take(Time now) {
  const MutexLock lock(mu_);
  for (const size_t part : {kRecord, kStatus}) {
    if (part == kStatus && lines_[part].taken() >= kThreads - kForRecords) break;
    const auto turn = lines_[part].Take(now, kAtATime);
    if (!turn) continue;
    Entry& entry = entries_.at(turn->key);
    entry.parts[part].at = At::kTaken;
    return Taken{part, entry, term_};
  }
  return std::nullopt;
}

Time GangStatusWriter::Step(const Clocks& now) {
  if (const std::optional<Taken> taken = Take(now.steady)) {
    Settle(*taken, Write(*taken, now), now.steady);
    if (ports_.wake) ports_.wake();
    return now.steady;
  }
  const MutexLock lock(mu_);
  Time next = Time::Never();
  for (const auto& line : lines_) next = std::min(next, line.NextAfter(now.steady).value_or(next));
  return next;
}

GangStatusWriter::Outcome GangStatusWriter::Write(const Taken& taken, const Clocks& now) {
  const PatchGang& gang = taken.entry.gang;
  const std::optional<ServedPodGroups> as = ports_.find(gang.uid);
  if (!as) return {Turn::kGone};
  if (!ports_.may_write()) return {Turn::kNotLeader};
  ApiRequest get;
  get.lane = Lane::kReport;
  get.timeout = kStatusTimeout;
  get.path = PodGroupPath(*as, gang.key);
  const Result<ApiReply> object = ports_.api.Call(get);
  if (!object.ok() || !object->ok()) {
    Outcome outcome = After(object);
    if (outcome.why && outcome.why->code == Code::kNotFound) outcome.turn = Turn::kGone;
    return outcome;
  }
  if (taken.part == kRecord) return WriteRecord(taken.entry, *as, object->body, now);
  Outcome outcome = WriteStatus(taken.entry, *as, object->body, now);
  const auto record = PlanGangRecord(gang, *as, object->body);
  if (record.ok()) outcome.record_is_right = !record->has_value();
  return outcome;
}

GangStatusWriter::Outcome GangStatusWriter::WriteRecord(const Entry& entry,
                                                        const ServedPodGroups& as,
                                                        std::string_view object,
                                                        const Clocks& now) {
  Result<std::optional<ApiRequest>> plan = PlanGangRecord(entry.gang, as, object);
  if (!plan.ok()) return Impossible(plan.error());
  Outcome outcome;
  if (plan->has_value()) {
    outcome = Send(*std::move(*plan));
    if (outcome.turn == Turn::kWritten) outcome.record_is_right = true;
    return outcome;
  }
  outcome.record_is_right = true;
  const auto status = PlanGangStatus(entry.gang, as, object, now.wall);
  if (!status.ok()) return outcome;
  const Duration wait = entry.written + kBetweenMessages - now.steady;
  if (!status->has_value()) outcome.status_wait = Duration(0);
  if (status->has_value() && (**status).only_message && wait > Duration(0)) {
    outcome.status_wait = wait;
  }
  return outcome;
}

GangStatusWriter::Outcome GangStatusWriter::WriteStatus(const Entry& entry,
                                                        const ServedPodGroups& as,
                                                        std::string_view object,
                                                        const Clocks& now) {
  const Result<std::optional<StatusPatch>> plan = PlanGangStatus(entry.gang, as, object, now.wall);
  if (!plan.ok()) return Impossible(plan.error());
  if (!plan->has_value()) return {Turn::kUnchanged};
  const StatusPatch& patch = **plan;
  const Duration wait = entry.written + kBetweenMessages - now.steady;
  if (patch.only_message && wait > Duration(0)) return {Turn::kMessage, wait};
  ApiRequest write{.method = Method::kPatch, .path = patch.path};
  write.body = patch.body;
  write.content_type = patch.content_type;
  return Send(std::move(write));
}

GangStatusWriter::Outcome GangStatusWriter::Send(ApiRequest request) {
  if (!ports_.may_write()) return {Turn::kNotLeader};
  request.lane = Lane::kReport;
  request.timeout = kStatusTimeout;
  return After(ports_.api.Call(request));
}

GangStatusWriter::Outcome GangStatusWriter::After(const Result<ApiReply>& answer) {
  if (answer.ok() && answer->ok()) return {Turn::kWritten};
  const Error error = answer.ok() ? ErrorOf(*answer) : answer.error();
  if (error.code == Code::kConflict) return {Turn::kConflict};
  const bool told = answer.ok() && answer->retry_after.has_value();
  return {Turn::kFailed, Duration(told ? answer->retry_after->count() : 0), error};
}

GangStatusWriter::Outcome GangStatusWriter::Impossible(const Error& why) {
  if (why.code == Code::kNotFound) return {Turn::kGone};
  return {Turn::kFailed, {}, why};
}

void GangStatusWriter::Settle(const Taken& taken, const Outcome& outcome, Time now) {
  std::string complaint;
  {
    const MutexLock lock(mu_);
    lines_[taken.part].Done(taken.entry.gang.key.ns);
    if (outcome.turn == Turn::kWritten) ++counts_.written;
    if (outcome.turn == Turn::kUnchanged) ++counts_.unchanged;
    if (outcome.turn == Turn::kGone) ++counts_.gone;
    if (taken.term != term_) return;
    Entry& entry = entries_.at(taken.entry.gang.uid);
    SettleLocked(entry, taken, outcome, now);
    complaint = ComplaintLocked(entry.parts[taken.part], outcome);
    ForgetOldLocked(now);
  }
  if (complaint.empty()) return;
  ports_.warn((taken.part == kRecord ? "the record of PodGroup " : "the status of PodGroup ") +
              taken.entry.gang.key.ToString() + " is not written, it is tried again: " + complaint);
}

void GangStatusWriter::SettleLocked(Entry& entry, const Taken& taken, const Outcome& outcome,
                                    Time now) {
  Part& part = entry.parts[taken.part];
  const bool newer = part.wanted != taken.entry.parts[taken.part].wanted;
  const bool fails = outcome.turn == Turn::kConflict || outcome.turn == Turn::kFailed;
  part.at = At::kNowhere;
  if (outcome.turn != Turn::kNotLeader) part.failures = fails ? part.failures + 1 : 0;
  switch (outcome.turn) {
    case Turn::kGone:
      DropLocked(entry, kStatus);
      DropLocked(entry, kRecord);
      [[fallthrough]];
    case Turn::kUnchanged:
    case Turn::kWritten:
      if (taken.part == kStatus && outcome.turn == Turn::kWritten) entry.written = now;
      if (newer) PutLocked(entry, taken.part, now);
      break;
    case Turn::kConflict:
      PutLocked(entry, taken.part,
                part.failures <= kConflictsAtOnce ? now : now + BackOff(part.failures));
      break;
    case Turn::kMessage:
      PutLocked(entry, taken.part, newer ? now : now + outcome.wait);
      break;
    case Turn::kFailed:
      PutLocked(entry, taken.part, now + std::max(outcome.wait, BackOff(part.failures)));
      break;
    case Turn::kNotLeader:
      PutLocked(entry, taken.part, now + Seconds(1));
      break;
  }
  SettleOtherLocked(entry, taken, outcome, now);
}

void GangStatusWriter::SettleOtherLocked(Entry& entry, const Taken& taken, const Outcome& outcome,
                                         Time now) {
  if (outcome.record_is_right == true) {
    entry.record = FormatGangRecord(taken.entry.gang.record);
  } else if (outcome.record_is_right == false) {
    entry.record.reset();
    WantLocked(entry, kRecord, now);
  }
  Part& status = entry.parts[kStatus];
  if (taken.part != kRecord || status.at != At::kBehind) return;
  const bool newer = status.wanted != taken.entry.parts[kStatus].wanted;
  if (newer || outcome.status_wait != Duration(0)) {
    PutLocked(entry, kStatus, newer ? now : now + outcome.status_wait.value_or(Duration(0)));
  } else {
    status.at = At::kNowhere;
  }
}

std::string GangStatusWriter::ComplaintLocked(Part& part, const Outcome& outcome) {
  if (outcome.turn != Turn::kFailed) {
    if (part.failures == 0) part.said = false;
    return {};
  }
  const Code code = outcome.why->code;
  const bool may_pass = code == Code::kForbidden || code == Code::kUnavailable || code == Code::kIo;
  if (part.said || (may_pass && part.failures <= kFailuresUnsaid)) return {};
  part.said = true;
  return outcome.why->ToString();
}

// Times of writes matter for a minute.
void GangStatusWriter::ForgetOldLocked(Time now) {
  if (entries_.size() <= forget_above_) return;
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    return std::all_of(entry.parts.begin(), entry.parts.end(),
                       [](const Part& part) { return part.at == At::kNowhere; }) &&
           entry.written + kBetweenMessages <= now;
  });
  forget_above_ = std::max<size_t>(1024, 2 * entries_.size());
}

}  // namespace muster::kube
