#include "engine/standing/releases.hpp"

#include <algorithm>

#include "engine/gangs/comes_in_turn.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

constexpr cluster::Duration kLately = cluster::Seconds(2);

// Planned members that have not come to Bind yet; of those that come one by one the next.
int64_t NotAtBind(const Gang& gang) {
  int64_t together = 0;
  int64_t next = 0;
  for (const auto& [uid, member] : gang.members) {
    if (!member.planned() || member.plan->bind_seen || member.pod->bound() || member.pod->ending())
      continue;
    if (ComesInTurn(member)) {
      next = 1;
    } else {
      ++together;
    }
  }
  return together + next;
}

}  // namespace

std::optional<ReleaseTurn> Releases::Follow(const Gang& gang, bool releases, Time now) {
  const int64_t pods = releases ? NotAtBind(gang) : 0;
  const auto known = turns_.find(gang.id);
  if (pods == 0 && known == turns_.end()) return std::nullopt;
  if (known != turns_.end() && known->second.plan != gang.plan->made) Leave(gang.id);
  const auto [at, fresh] = turns_.try_emplace(gang.id);
  Turn& turn = at->second;
  if (fresh) {
    const Time planned = gang.plan->made_at;
    turn = {.plan = gang.plan->made,
            .pods = pods,
            .priority = PriorityOf(gang),
            .planned = planned,
            .from = planned,
            .active = planned};
    waiting_.insert(PlaceOf(gang.id, turn));
  } else {
    if (releases && turn.begun && pods < turn.pods) Arrive(gang.id, turn, turn.pods - pods, now);
    Count(turn, pods);
  }
  if (pods == 0) {
    Leave(gang.id);
    return std::nullopt;
  }
  const bool first = !turn.begun && std::get<cluster::GangId>(*waiting_.begin()) == gang.id;
  if (first && under_way_ < Window(now)) Begin(gang.id, turn, now);
  if (turn.begun) return ReleaseTurn{turn.planned, turn.waited ? turn.from : Time(0)};
  turn.waited = true;
  return ReleaseTurn{turn.planned, now, true, under_way_};
}

bool Releases::MayRelease(const Gang& gang) const {
  const auto found = turns_.find(gang.id);
  return found == turns_.end() || found->second.begun;
}

std::optional<cluster::GangId> Releases::Next(Time now) {
  if (waiting_.empty() || under_way_ >= Window(now)) return std::nullopt;
  return std::get<cluster::GangId>(*waiting_.begin());
}

Time Releases::due() const {
  if (waiting_.empty() || begun_.empty()) return Time::Never();
  return std::get<Time>(*begun_.begin()) + patience();
}

Releases::Order::value_type Releases::PlaceOf(const cluster::GangId& gang, const Turn& turn) {
  return {turn.begun ? 0 : -int64_t{turn.priority}, turn.active, gang};
}

void Releases::Begin(const cluster::GangId& gang, Turn& turn, Time now) {
  waiting_.erase(PlaceOf(gang, turn));
  turn.begun = true;
  turn.from = now;
  turn.active = now;
  begun_.insert(PlaceOf(gang, turn));
  under_way_ += turn.pods;
}

void Releases::Arrive(const cluster::GangId& gang, Turn& turn, int64_t pods, Time now) {
  arrivals_.emplace_back(now, pods);
  if (!std::exchange(turn.came, true)) latency_ = now - turn.from;
  if (!turn.overdue) begun_.erase(PlaceOf(gang, turn));
  turn.active = now;
  if (!turn.overdue) begun_.insert(PlaceOf(gang, turn));
}

void Releases::Count(Turn& turn, int64_t pods) {
  if (turn.begun && !turn.overdue) under_way_ += pods - turn.pods;
  turn.pods = pods;
}

void Releases::Leave(const cluster::GangId& gang) {
  const auto found = turns_.find(gang);
  if (found == turns_.end()) return;
  Turn& turn = found->second;
  Count(turn, 0);
  (turn.begun ? begun_ : waiting_).erase(PlaceOf(gang, turn));
  turns_.erase(found);
}

void Releases::PassOverdue(Time now) {
  while (!begun_.empty() && std::get<Time>(*begun_.begin()) + patience() <= now) {
    Turn& turn = turns_.at(std::get<cluster::GangId>(*begun_.begin()));
    under_way_ -= turn.pods;
    turn.overdue = true;
    begun_.erase(begun_.begin());
  }
}

int64_t Releases::Window(Time now) {
  PassOverdue(now);
  while (!arrivals_.empty() && arrivals_.front().first + kLately <= now) arrivals_.pop_front();
  int64_t lately = 0;
  for (const auto& [at, pods] : arrivals_) lately += pods;
  return std::max(kLeast, 2 * lately);
}

std::vector<std::string> Releases::Audit() const {
  std::vector<std::string> broken;
  int64_t pods = 0;
  size_t waiting = 0;
  size_t counted = 0;
  for (const auto& [id, turn] : turns_) {
    const bool counts = turn.begun && !turn.overdue;
    pods += counts ? turn.pods : 0;
    counted += counts ? 1 : 0;
    waiting += turn.begun ? 0 : 1;
  }
  if (pods != under_way_ || counted != begun_.size() || waiting != waiting_.size())
    broken.emplace_back("pods on their way to kube-scheduler are miscounted");
  return broken;
}

}  // namespace muster::engine
