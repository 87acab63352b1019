#include "engine/preemptions.hpp"

#include <algorithm>
#include <utility>

#include "cluster/check.hpp"
#include "engine/course.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::PodUid;
using cluster::Time;

namespace {

constexpr Duration kMostPatience = cluster::Seconds(86'400);

}  // namespace

const Victims* Preemptions::VictimsOf(const GangId& preemptor) const {
  if (victims_.empty()) return nullptr;
  const auto found = victims_.find(preemptor);
  return found == victims_.end() ? nullptr : &found->second;
}

const GangId* Preemptions::PreemptorOf(const PodUid& victim) const {
  if (makes_way_for_.empty()) return nullptr;
  const auto found = makes_way_for_.find(victim);
  return found == makes_way_for_.end() ? nullptr : &found->second;
}

void Preemptions::Begin(const GangId& preemptor, Victims victims) {
  MUSTER_CHECK(!victims_.contains(preemptor));
  for (const PodUid& uid : victims.pods) {
    const bool free = makes_way_for_.emplace(uid, preemptor).second;
    MUSTER_CHECK(free);
  }
  victims_.emplace(preemptor, std::move(victims));
}

void Preemptions::Ask(const GangId& preemptor, const std::vector<PodUid>& to_go) {
  victims_.at(preemptor).asked = true;
  must_go_.insert(to_go.begin(), to_go.end());
}

bool Preemptions::Evicted(const GangId& preemptor) {
  const auto found = victims_.find(preemptor);
  return found != victims_.end() && !std::exchange(found->second.begun, true);
}

void Preemptions::Refused(const GangId& preemptor, const std::string& why, bool barred) {
  std::string& obstacle = victims_.at(preemptor).obstacle;
  if (obstacle.empty() || barred) obstacle = why;
}

void Preemptions::Lose(const PodUid& victim) {
  const auto found = makes_way_for_.find(victim);
  if (found == makes_way_for_.end()) return;
  victims_.at(found->second).lost = true;
  Forget(victim);
}

void Preemptions::Forget(const PodUid& pod) {
  makes_way_for_.erase(pod);
  must_go_.erase(pod);
  kept_.erase(pod);
}

std::vector<PodUid> Preemptions::End(const GangId& preemptor) {
  auto victims = victims_.extract(preemptor);
  std::vector<PodUid> spared;
  if (victims.empty()) return spared;
  for (const PodUid& uid : victims.mapped().pods) {
    const GangId* preemptor_of = PreemptorOf(uid);
    if (preemptor_of == nullptr || *preemptor_of != preemptor) continue;
    makes_way_for_.erase(uid);
    must_go_.erase(uid);
    spared.push_back(uid);
  }
  return spared;
}

int64_t Preemptions::tries(const GangId& preemptor) const {
  const auto found = patience_.find(preemptor);
  return found == patience_.end() ? 0 : found->second.tries;
}

std::optional<Time> Preemptions::may_preempt_from(const GangId& preemptor) const {
  if (patience_.empty()) return std::nullopt;
  const auto found = patience_.find(preemptor);
  return found == patience_.end() ? std::nullopt : found->second.until;
}

void Preemptions::CountTry(const GangId& preemptor, Duration first, Time now) {
  Patience& patience = patience_[preemptor];
  patience.until = now + Doubled(first, ++patience.tries, kMostPatience);
}

void Preemptions::UncountTry(const GangId& preemptor) {
  const auto found = patience_.find(preemptor);
  if (found == patience_.end()) return;
  found->second.until.reset();
  if (--found->second.tries <= 0) patience_.erase(found);
}

void Preemptions::Pass(const GangId& preemptor, Time now) {
  if (patience_.empty()) return;
  const auto found = patience_.find(preemptor);
  if (found == patience_.end()) return;
  std::optional<Time>& until = found->second.until;
  if (until && *until <= now) until.reset();
}

std::optional<Time> Preemptions::KeptUntil(const PodUid& pod) const {
  if (kept_.empty()) return std::nullopt;
  const auto found = kept_.find(pod);
  return found == kept_.end() ? std::nullopt : std::optional<Time>(found->second);
}

bool Preemptions::ReleaseAll() {
  const bool any = !kept_.empty();
  kept_.clear();
  return any;
}

bool Preemptions::Hold(const GangId& gang, std::optional<int32_t> priority, int64_t available) {
  const auto known = holders_.find(gang);
  if (known == holders_.end() && !priority) return false;
  const int64_t before = known == holders_.end() ? 0 : known->second.available;
  const bool moves = known != holders_.end() && priority != known->second.priority;
  if (moves) {
    const auto at = holding_.find(known->second.priority);
    at->second.erase(gang);
    if (at->second.empty()) holding_.erase(at);
  }
  if (!priority) {
    holders_.erase(known);
    return false;
  }
  if (moves || known == holders_.end()) holding_[*priority].insert(gang);
  holders_[gang] = {*priority, available};
  return available > before;
}

std::vector<std::string> Preemptions::Audit() const {
  std::vector<std::string> broken;
  for (const auto& [uid, preemptor] : makes_way_for_) {
    const Victims* victims = VictimsOf(preemptor);
    if (victims == nullptr || !victims->pods.contains(uid))
      broken.push_back("pod UID " + uid.text() + " makes way for nobody");
  }
  for (const PodUid& uid : must_go_) {
    const GangId* preemptor = PreemptorOf(uid);
    if (preemptor == nullptr || !VictimsOf(*preemptor)->asked)
      broken.push_back("pod UID " + uid.text() + " is evicted for nobody");
  }
  size_t holders = 0;
  for (const auto& [priority, gangs] : holding_) holders += gangs.size();
  if (holders != holders_.size()) broken.emplace_back("gangs that hold something are miscounted");
  return broken;
}

}  // namespace muster::engine
