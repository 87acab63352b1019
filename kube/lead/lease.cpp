#include "kube/lead/lease.hpp"

#include <algorithm>
#include <utility>

#include "kube/api/refusal.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Duration;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;
using cluster::Seconds;
using cluster::Time;

namespace {

// A Lease that was deleted may have had terms of which this replica saw none; epochs still rise.
constexpr int64_t kUnseenTerms = 1000;

}  // namespace

LeaderElection::LeaderElection(Ports ports, LeaseOptions options)
    : ports_(std::move(ports)), options_(std::move(options)), random_(options_.seed) {}

// Joining a thread throws where it is not to be joined, and that is not so here.
LeaderElection::~LeaderElection() { Stop(); }  // NOLINT(bugprone-exception-escape)

void LeaderElection::Start() {
  announcer_ = std::make_unique<StepThread>([this](const Clocks&) { return Announce(); });
  elector_ = std::make_unique<StepThread>([this](const Clocks&) { return Elect(); });
}

void LeaderElection::Stop() {
  if (elector_) elector_->Stop();
  const bool held = !EndIfOver() && EndTerm();
  if (announcer_) announcer_->Stop();
  while (Announce() != Time::Never()) {
  }
  // The thread of Elect's has ended: its fields are ours.
  if (held) GiveBack(ports_.api, options_.lease, base_, held_, ports_.clock().wall);
}

bool LeaderElection::MayWrite(Duration margin) const {
  const int64_t deadline = deadline_;
  return deadline != kNotLeading && Now() + margin <= Time(deadline);
}

std::optional<Time> LeaderElection::deadline() const {
  const int64_t deadline = deadline_;
  if (deadline == kNotLeading) return std::nullopt;
  return Time(deadline);
}

// Terms

void LeaderElection::Hold(Time start, const LeaseRecord& record) {
  EndIfOver();
  {
    const MutexLock lock(mu_);
    const Time until = start + options_.renew_within;
    const auto epoch = static_cast<uint64_t>(record.transitions);
    // The answer came too late to be of use, or it belongs to a term that is over.
    if (Now() > until || had_its_term() || (leading() ? epoch != epoch_ : epoch <= epoch_)) return;
    epoch_ = epoch;
    deadline_ = std::max(deadline_.load(), until.milliseconds());
  }
  if (announcer_) announcer_->Poke();
}

bool LeaderElection::EndTerm() {
  {
    const MutexLock lock(mu_);
    if (!leading()) return false;
    deadline_ = kNotLeading;
  }
  if (announcer_) announcer_->Poke();
  return true;
}

bool LeaderElection::EndIfOver() {
  {
    const MutexLock lock(mu_);
    if (!leading() || Now() <= Time(deadline_)) return false;
    deadline_ = kNotLeading;
  }
  if (announcer_) announcer_->Poke();
  return true;
}

Time LeaderElection::Announce() {
  EndIfOver();
  uint64_t started = 0;
  bool stopped = false;
  Time next = Time::Never();
  {
    const MutexLock lock(mu_);
    if (told_started_ && (!leading() || announced_ != epoch_)) {
      told_started_ = false;
      stopped = true;
    } else if (!told_started_ && leading() && announced_ != epoch_) {
      told_started_ = true;
      announced_ = started = epoch_;
    } else if (had_its_term() && announced_ != epoch_) {
      announced_ = epoch_;  // it was over before anybody was told: so is this process's part
      stopped = true;
    } else if (leading()) {
      next = Time(deadline_) + Duration(1);
    }
  }
  if (stopped) ports_.on_stopped();
  if (started != 0) ports_.on_started(started);
  return stopped || started != 0 ? Time() : next;
}

// The Lease

Time LeaderElection::Elect() {
  const Time begun = Now();
  if (EndIfOver()) Warn("leadership is lost: the Lease could not be renewed in time");
  if (had_its_term()) return Time::Never();
  Next next = leading() ? Renew() : Next::kAgain;
  for (int looks = 0; looks < 2 && next == Next::kAgain; ++looks) next = Look();
  if (leading()) return begun + options_.retry;
  std::uniform_real_distribution<double> part(0, options_.jitter);
  const auto retry = static_cast<double>(options_.retry.value());
  return Now() + Duration(static_cast<int64_t>(retry * (1 + part(random_))));
}

LeaseRecord LeaderElection::RenewedRecord() const {
  LeaseRecord record = held_;
  record.renew_time = FormatMicroTime(ports_.clock().wall);
  return record;
}

LeaseRecord LeaderElection::TakenRecord(int64_t transitions) const {
  const std::string now = FormatMicroTime(ports_.clock().wall);
  const int64_t before = std::max(transitions, static_cast<int64_t>(epoch_.load()));
  return {options_.identity, options_.duration.value() / 1000, now, now, before + 1};
}

LeaderElection::Next LeaderElection::Renew() {
  return base_ ? Put(*base_, RenewedRecord()) : Next::kAgain;
}

LeaderElection::Next LeaderElection::Look() {
  const Result<ApiReply> answer = ports_.api.Call(GetLease(options_.lease));
  if (answer.ok() && answer->status == 404) return Create();
  if (!answer.ok() || !answer->ok()) {
    Warn("the Lease cannot be read: " +
         (answer.ok() ? ErrorOf(*answer) : answer.error()).ToString());
    return Next::kWait;
  }
  const Result<LeaseObject> lease = ReadLease(answer->body);
  if (!lease.ok()) {
    Warn("the Lease makes no sense: " + lease.error().ToString());
    return Next::kWait;
  }
  Observe(lease->record);
  EndIfOver();
  const bool own = lease->record.holder == options_.identity &&
                   lease->record.transitions == static_cast<int64_t>(epoch_.load());
  if (leading() && own) return Put(*lease, RenewedRecord());
  if (EndTerm()) {
    Warn("leadership is lost: the Lease is held by \"" + lease->record.holder + "\"");
  }
  if (MustWait()) return Next::kWait;
  return Put(*lease, TakenRecord(lease->record.transitions));
}

LeaderElection::Next LeaderElection::Create() {
  Observe(std::nullopt);
  EndIfOver();
  // It was deleted; who held it may still believe that it leads, and so may we.
  if (!leading() && MustWait()) return Next::kWait;
  const LeaseRecord record =
      leading() ? RenewedRecord() : TakenRecord(seen_ ? observed_.transitions + kUnseenTerms : 0);
  const Time start = Now();
  return Judge(ports_.api.Call(CreateLease(options_.lease, record)), start, record);
}

LeaderElection::Next LeaderElection::Put(const LeaseObject& base, const LeaseRecord& record) {
  const ApiRequest request = UpdateLease(options_.lease, base, record);
  const Time start = Now();
  return Judge(ports_.api.Call(request), start, record);
}

LeaderElection::Next LeaderElection::Judge(const Result<ApiReply>& answer, Time start,
                                           const LeaseRecord& sent) {
  base_.reset();
  if (answer.ok() && answer->ok()) {
    const Result<LeaseObject> lease = ReadLease(answer->body);
    // An answer that makes no sense still says that it was done; the next renewal looks first.
    if (lease.ok()) base_ = *lease;
    held_ = sent;
    Observe(sent);
    last_warning_.clear();
    Hold(start, sent);
    return Next::kWait;
  }
  const Error error = answer.ok() ? ErrorOf(*answer) : answer.error();
  if (error.code == Code::kConflict || error.code == Code::kNotFound) {
    // A candidate has lost a race, and looks again when its time comes.
    return leading() ? Next::kAgain : Next::kWait;
  }
  // It may have been done all the same: the next look tells.
  Warn("the Lease cannot be written: " + error.ToString());
  return Next::kWait;
}

void LeaderElection::Observe(const std::optional<LeaseRecord>& record) {
  const bool absent = !record.has_value();
  if (absent ? !seen_ || absent_ : seen_ && !absent_ && observed_ == *record) return;
  absent_ = absent;
  if (record) {
    seen_ = true;
    observed_ = *record;
  }
  // After the answer: the holder's own time began before it.
  observed_at_ = Now();
}

bool LeaderElection::MustWait() const {
  if (!seen_) return false;
  if (!absent_ && (observed_.holder.empty() || observed_.holder == options_.identity)) return false;
  const bool says = !absent_ && observed_.duration_seconds > 0;
  const Duration lasts = says ? Seconds(observed_.duration_seconds) : options_.duration;
  return Now() <= observed_at_ + lasts;
}

void LeaderElection::Warn(const std::string& what) {
  if (what != std::exchange(last_warning_, what)) ports_.warn(what);
}

}  // namespace muster::kube
