#include "engine/standing/preemptions.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/check.hpp"
#include "engine/gangs/course.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::PodUid;
using cluster::Time;

namespace {

constexpr Duration kMostBackoff = cluster::Seconds(86'400);
constexpr Duration kHour = cluster::Seconds(3'600);
// Failures that are further apart are none in a row.
constexpr Duration kInARow = cluster::Seconds(300);
// How long a pod is left alone after its first GiveUp: the cause may be fixed soon.
constexpr Duration kGivenUpFor = cluster::Seconds(60);

}  // namespace

const Victims* Preemptions::VictimsOf(const GangId& preemptor) const {
  if (victims_.empty()) return nullptr;
  const auto found = victims_.find(preemptor);
  return found == victims_.end() ? nullptr : &found->second;
}

const GangId* Preemptions::PreemptorOf(const PodUid& victim) const {
  if (preemptor_of_.empty()) return nullptr;
  const auto found = preemptor_of_.find(victim);
  return found == preemptor_of_.end() ? nullptr : &found->second;
}

void Preemptions::Begin(const GangId& preemptor, Victims victims) {
  MUSTER_CHECK(!victims_.contains(preemptor));
  for (const PodUid& uid : victims.pods) {
    const bool free = preemptor_of_.emplace(uid, preemptor).second;
    MUSTER_CHECK(free);
  }
  victims_.emplace(preemptor, std::move(victims));
}

const Certificate* Preemptions::CertificateOf(const GangId& preemptor) const {
  const auto found = certificates_.find(preemptor);
  return found == certificates_.end() ? nullptr : &found->second;
}

void Preemptions::ForgetGang(const GangId& gang) {
  tries_.erase(gang);
  certificates_.erase(gang);
  paid_.erase(gang);
}

void Preemptions::Ask(const GangId& preemptor, const std::vector<PodUid>& to_go, Time now,
                      std::set<PodUid> over_budgets, std::set<PodUid> cut_short) {
  victims_.at(preemptor).cut_short = std::move(cut_short);
  victims_.at(preemptor).over_budgets = std::move(over_budgets);
  victims_.at(preemptor).asked = true;
  victims_.at(preemptor).asked_at = now;
  to_evict_.insert(to_go.begin(), to_go.end());
}

bool Preemptions::IsCutShort(const PodUid& victim) const {
  const GangId* preemptor = PreemptorOf(victim);
  return preemptor != nullptr && victims_.at(*preemptor).cut_short.contains(victim);
}

bool Preemptions::Evicted(const GangId& preemptor) {
  const auto found = victims_.find(preemptor);
  return found != victims_.end() && !std::exchange(found->second.begun, true);
}

void Preemptions::Refused(const GangId& preemptor, const std::string& why, bool barred,
                          Time not_before) {
  Victims& victims = victims_.at(preemptor);
  if (victims.obstacle.empty() || barred) victims.obstacle = why;
  victims.not_before = std::max(victims.not_before, not_before);
}

void Preemptions::Lose(const PodUid& victim) {
  const auto found = preemptor_of_.find(victim);
  if (found == preemptor_of_.end()) return;
  victims_.at(found->second).lost = true;
  preemptor_of_.erase(found);
  to_evict_.erase(victim);
  protected_.erase(victim);
}

void Preemptions::Forget(const PodUid& pod) {
  preemptor_of_.erase(pod);
  to_evict_.erase(pod);
  protected_.erase(pod);
  failures_.erase(pod);
}

std::vector<PodUid> Preemptions::End(const GangId& preemptor) {
  auto victims = victims_.extract(preemptor);
  std::vector<PodUid> spared;
  if (victims.empty()) return spared;
  for (const PodUid& uid : victims.mapped().pods) {
    const GangId* preemptor_of = PreemptorOf(uid);
    if (preemptor_of == nullptr || *preemptor_of != preemptor) continue;
    preemptor_of_.erase(uid);
    to_evict_.erase(uid);
    spared.push_back(uid);
  }
  return spared;
}

Tries Preemptions::TriesOf(const GangId& preemptor) const {
  const auto found = tries_.find(preemptor);
  return found == tries_.end() ? Tries{} : found->second;
}

void Preemptions::EndedEarly(const GangId& gang, Time now) {
  std::erase_if(ended_early_until_, [&](const auto& one) { return one.second <= now; });
  ended_early_until_[gang] = now + kHour;
}

std::optional<Time> Preemptions::EndedEarlyUntil(const GangId& gang) const {
  const auto found = ended_early_until_.find(gang);
  return found == ended_early_until_.end() ? std::nullopt : std::optional<Time>(found->second);
}

void Preemptions::CountTry(const GangId& preemptor, Duration first, Time now) {
  Tries& tries = tries_[preemptor];
  tries.until = now + Doubled(first, ++tries.in_vain, kMostBackoff);
}

void Preemptions::UncountTry(const GangId& preemptor) {
  const auto found = tries_.find(preemptor);
  if (found == tries_.end()) return;
  found->second.until.reset();
  if (--found->second.in_vain <= 0) tries_.erase(found);
}

void Preemptions::Pass(const GangId& preemptor, Time now) {
  std::erase_if(ended_early_until_, [&](const auto& one) { return one.second <= now; });
  if (tries_.empty()) return;
  const auto found = tries_.find(preemptor);
  if (found == tries_.end()) return;
  std::optional<Time>& until = found->second.until;
  if (until && *until <= now) until.reset();
}

const Protection* Preemptions::ProtectionOf(const PodUid& pod) const {
  if (protected_.empty()) return nullptr;
  const auto found = protected_.find(pod);
  return found == protected_.end() ? nullptr : &found->second;
}

bool Preemptions::ReleaseAll() {
  const bool any = !protected_.empty();
  protected_.clear();
  return any;
}

int64_t Preemptions::Fails(const PodUid& pod, Time now) {
  EvictionFailures& failures = failures_[pod];
  if (failures.last + kInARow < now) failures.in_a_row = 0;
  failures.last = now;
  return ++failures.in_a_row;
}

void Preemptions::GiveUp(const PodUid& pod, Time now) {
  EvictionFailures& failures = failures_[pod];
  failures.in_a_row = 0;
  Protect(pod, {now + Doubled(kGivenUpFor, ++failures.given_up, kHour)});
}

void Preemptions::CountEviction(const GangId& victim, Time now) {
  while (!evictions_.empty() && evictions_.front().first + kHour <= now) evictions_.pop_front();
  evictions_.emplace_back(now, victim);
}

bool Preemptions::EvictedSince(const GangId& victim, Time since) const {
  return std::any_of(evictions_.begin(), evictions_.end(),
                     [&](const auto& one) { return one.second == victim && one.first >= since; });
}

std::optional<Time> Preemptions::EvictedOftenUntil(const GangId& victim, int64_t most,
                                                   Time now) const {
  if (most == 0) return Time::Never();
  int64_t times = 0;
  for (auto one = evictions_.rbegin(); one != evictions_.rend(); ++one) {
    if (one->first + kHour <= now) break;
    if (one->second == victim && ++times >= most) return one->first + kHour;
  }
  return std::nullopt;
}

void Preemptions::Rename(const GangId& from, const GangId& to) {
  if (from == to) return;
  for (auto& [at, victim] : evictions_) {
    if (victim == from) victim = to;
  }
  auto early = ended_early_until_.extract(from);
  if (early.empty()) return;
  early.key() = to;
  ended_early_until_.insert(std::move(early));
}

bool Preemptions::TakeWake(Time now) {
  if (!wake_ || *wake_ > now) return false;
  wake_.reset();
  return true;
}

std::vector<std::string> Preemptions::Audit() const {
  std::vector<std::string> broken;
  for (const auto& [uid, preemptor] : preemptor_of_) {
    const Victims* victims = VictimsOf(preemptor);
    if (victims == nullptr || !victims->pods.contains(uid))
      broken.push_back("pod UID " + uid.text() + " has no preemptor");
  }
  for (const PodUid& uid : to_evict_) {
    const GangId* preemptor = PreemptorOf(uid);
    if (preemptor == nullptr || !VictimsOf(*preemptor)->asked)
      broken.push_back("pod UID " + uid.text() + " has no preemptor that asked");
  }
  return broken;
}

}  // namespace muster::engine
