#include "engine/standing/owners.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::GangId;
using cluster::Time;

Time Owners::Since(const std::string& owner, Time created) {
  if (owner.empty()) return created;
  const auto found = of_.find(owner);
  if (found != of_.end()) {
    ages_.splice(ages_.begin(), ages_, found->second);
    ages_.front().since = std::min(ages_.front().since, created);
    return ages_.front().since;
  }
  ages_.push_front({owner, created});
  of_.emplace(owner, ages_.begin());
  if (of_.size() > kMost) {
    of_.erase(ages_.back().owner);
    ages_.pop_back();
  }
  return created;
}

std::map<Owners::Key, Owners::Entry>::iterator Owners::Erase(std::map<Key, Entry>::iterator entry) {
  in_order_.erase(entry->second.number);
  return left_.erase(entry);
}

void Owners::DropOver(Time now) {
  while (!in_order_.empty()) {
    const auto first = left_.find(in_order_.begin()->second);
    if (left_.size() <= kMost && first->second.until > now) return;
    Erase(first);
  }
}

Time Owners::Leave(const std::string& owner, LeftBehind left, Time now) {
  Key key(owner, left.gang);
  if (const auto older = left_.find(key); older != left_.end()) Erase(older);
  const Time until = now + kKeptFor;
  in_order_.emplace(++last_, key);
  left_.emplace(std::move(key), Entry{std::move(left), last_, until});
  DropOver(now);
  return until;
}

std::optional<LeftBehind> Owners::Take(const std::string& owner, const GangId& gang, Time now) {
  DropOver(now);
  auto taken = left_.find({owner, gang});
  if (taken == left_.end()) taken = left_.lower_bound({owner, GangId{}});
  if (taken == left_.end() || taken->first.first != owner) return std::nullopt;
  LeftBehind left = std::move(taken->second.left);
  Erase(taken);
  return left;
}

std::vector<GangId> Owners::Forget(const std::string& owner) {
  if (const auto age = of_.find(owner); age != of_.end()) {
    ages_.erase(age->second);
    of_.erase(age);
  }
  std::vector<GangId> gangs;
  auto at = left_.lower_bound({owner, GangId{}});
  while (at != left_.end() && at->first.first == owner) {
    gangs.push_back(at->first.second);
    at = Erase(at);
  }
  return gangs;
}

std::vector<std::string> Owners::Audit() const {
  std::vector<std::string> broken;
  if (ages_.size() != of_.size() || of_.size() > kMost)
    broken.emplace_back("ages of owners and their index differ");
  const bool same = std::all_of(left_.begin(), left_.end(), [&](const auto& one) {
    const auto found = in_order_.find(one.second.number);
    return found != in_order_.end() && found->second == one.first;
  });
  if (!same || in_order_.size() != left_.size() || left_.size() > kMost)
    broken.emplace_back("what gangs left to their owners and its order differ");
  return broken;
}

}  // namespace muster::engine
