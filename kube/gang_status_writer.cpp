#include "kube/gang_status_writer.hpp"

#include <algorithm>

#include "kube/gang_record.hpp"
#include "kube/gang_status.hpp"
#include "kube/refusal.hpp"

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
constexpr int kForbiddenTries = 6;  // half a minute
// Below the margin of LeaderElection::MayWrite.
constexpr std::chrono::milliseconds kTimeout{3500};

Duration BackOff(int failures) {
  return Duration(std::min<int64_t>(60'000, int64_t{500} << std::min(failures, 10)));
}

}  // namespace

GangStatusWriter::GangStatusWriter(Ports ports) : ports_(std::move(ports)) {}

void GangStatusWriter::Begin(Time now) {
  const MutexLock lock(mu_);
  entries_.clear();
  due_.clear();
  begun_ = now;
}

void GangStatusWriter::WaitLocked(const PodGroupUid& uid, Entry& entry, Time due) {
  if (entry.waiting) due_.erase({entry.due, uid});
  entry.waiting = true;
  entry.due = due;
  due_.insert({due, uid});
}

void GangStatusWriter::Want(const PatchGang& gang, Time now) {
  const MutexLock lock(mu_);
  const auto [found, added] = entries_.try_emplace(gang.uid);
  Entry& entry = found->second;
  if (added) entry.written = begun_;
  entry.gang = gang;
  ++entry.wanted;
  // After failures the next attempt keeps its time.
  WaitLocked(gang.uid, entry, entry.waiting && entry.failures > 0 ? entry.due : now);
}

GangStatusWriter::Counts GangStatusWriter::counts() const {
  const MutexLock lock(mu_);
  Counts counts = counts_;
  counts.waiting = static_cast<int64_t>(due_.size());
  return counts;
}

Time GangStatusWriter::Step(const Clocks& now) {
  PodGroupUid uid;
  Entry entry;
  {
    const MutexLock lock(mu_);
    if (due_.empty()) return Time::Never();
    if (due_.begin()->first > now.steady) return due_.begin()->first;
    uid = due_.begin()->second;
    entry = entries_[uid];
  }
  Settle(uid, entry, Write(entry, now), now.steady);
  const MutexLock lock(mu_);
  return due_.empty() ? Time::Never() : due_.begin()->first;
}

// The record after the status: it names no version, so it goes through also when the status was
// given up.
GangStatusWriter::Outcome GangStatusWriter::Write(const Entry& entry, const Clocks& now) {
  const std::optional<ServedPodGroups> as = ports_.find(entry.gang.uid);
  if (!as) return {Turn::kGaveUp, {}};
  if (!ports_.may_write()) return {Turn::kNotLeader, {}};
  ApiRequest get;
  get.lane = Lane::kReport;
  get.path = PodGroupPath(*as, entry.gang.key);
  const Result<ApiReply> object = ports_.api.Call(get);
  if (!object.ok() || !object->ok()) return After(object, entry.gang, entry.failures);
  const Outcome status = WriteStatus(entry, *as, object->body, now);
  const bool goes_on = status.turn == Turn::kWritten || status.turn == Turn::kUnchanged ||
                       status.turn == Turn::kMessage || status.turn == Turn::kGaveUp;
  if (!goes_on) return status;
  Result<std::optional<ApiRequest>> record = PlanGangRecord(entry.gang, *as, object->body);
  if (!record.ok() || !record->has_value()) return status;
  const Outcome outcome = Send(**record, entry);
  if (outcome.turn != Turn::kWritten) return outcome;
  return status.turn == Turn::kUnchanged ? outcome : status;
}

GangStatusWriter::Outcome GangStatusWriter::Send(ApiRequest request, const Entry& entry) {
  if (!ports_.may_write()) return {Turn::kNotLeader, {}};
  request.lane = Lane::kReport;
  request.timeout = kTimeout;
  return After(ports_.api.Call(request), entry.gang, entry.failures);
}

GangStatusWriter::Outcome GangStatusWriter::WriteStatus(const Entry& entry,
                                                        const ServedPodGroups& as,
                                                        std::string_view object,
                                                        const Clocks& now) {
  const Result<std::optional<StatusPatch>> plan = PlanGangStatus(entry.gang, as, object, now.wall);
  if (!plan.ok()) {
    if (plan.error().code != Code::kNotFound) {
      ports_.warn("the status of PodGroup " + entry.gang.key.ToString() +
                  " is not written: " + plan.error().ToString());
    }
    return {Turn::kGaveUp, {}};
  }
  if (!plan->has_value()) return {Turn::kUnchanged, {}};
  const StatusPatch& patch = **plan;
  const Duration wait = entry.written + kBetweenMessages - now.steady;
  if (patch.only_message && wait > Duration(0)) return {Turn::kMessage, wait};
  ApiRequest write{.method = Method::kPatch, .path = patch.path};
  write.body = patch.body;
  write.content_type = patch.content_type;
  return Send(std::move(write), entry);
}

GangStatusWriter::Outcome GangStatusWriter::After(const Result<ApiReply>& answer,
                                                  const PatchGang& gang, int failures) {
  if (answer.ok() && answer->ok()) return {Turn::kWritten, {}};
  const Error error = answer.ok() ? ErrorOf(*answer) : answer.error();
  switch (error.code) {
    case Code::kConflict:
      return {Turn::kConflict, {}};
    case Code::kNotFound:
      return {Turn::kGaveUp, {}};
    case Code::kForbidden:  // also by an API server that has just started and knows no roles yet
      if (failures < kForbiddenTries) return {Turn::kFailed, {}};
      ports_.warn("the status of PodGroup " + gang.key.ToString() +
                  " is not written: " + error.ToString());
      return {Turn::kGaveUp, {}};
    case Code::kUnavailable:
    case Code::kIo: {
      const bool told = answer.ok() && answer->retry_after.has_value();
      return {Turn::kFailed, Duration(told ? answer->retry_after->count() : 0)};
    }
    default:
      ports_.warn("the status of PodGroup " + gang.key.ToString() +
                  " is not written: " + error.ToString());
      return {Turn::kGaveUp, {}};
  }
}

void GangStatusWriter::Settle(const PodGroupUid& uid, const Entry& tried, const Outcome& outcome,
                              Time now) {
  const MutexLock lock(mu_);
  if (outcome.turn == Turn::kWritten) ++counts_.written;
  if (outcome.turn == Turn::kUnchanged) ++counts_.unchanged;
  if (outcome.turn == Turn::kGaveUp) ++counts_.refused;
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return;  // another term began meanwhile
  Entry& entry = found->second;
  SettleLocked(uid, entry, outcome, entry.wanted != tried.wanted, now);
  ForgetOldLocked(now);
}

void GangStatusWriter::SettleLocked(const PodGroupUid& uid, Entry& entry, const Outcome& outcome,
                                    bool newer, Time now) {
  switch (outcome.turn) {
    case Turn::kUnchanged:
    case Turn::kWritten:
    case Turn::kGaveUp:
      if (outcome.turn == Turn::kWritten) entry.written = now;
      entry.failures = 0;
      if (newer) {
        WaitLocked(uid, entry, now);
      } else {
        due_.erase({entry.due, uid});
        entry.waiting = false;
      }
      break;
    case Turn::kConflict:
      ++entry.failures;
      WaitLocked(uid, entry,
                 entry.failures <= kConflictsAtOnce ? now : now + BackOff(entry.failures));
      break;
    case Turn::kMessage:
      entry.failures = 0;
      WaitLocked(uid, entry, newer ? now : now + outcome.wait);
      break;
    case Turn::kFailed:
      ++entry.failures;
      WaitLocked(uid, entry, now + std::max(outcome.wait, BackOff(entry.failures)));
      break;
    case Turn::kNotLeader:
      WaitLocked(uid, entry, now + Seconds(1));
      break;
  }
}

// Times of writes matter for a minute.
void GangStatusWriter::ForgetOldLocked(Time now) {
  if (entries_.size() <= forget_above_) return;
  std::erase_if(entries_, [&](const auto& item) {
    return !item.second.waiting && item.second.written + kBetweenMessages <= now;
  });
  forget_above_ = std::max<size_t>(1024, 2 * entries_.size());
}

}  // namespace muster::kube
