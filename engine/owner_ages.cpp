#include "engine/owner_ages.hpp"

#include <algorithm>

namespace muster::engine {

cluster::Time OwnerAges::Since(const std::string& owner, cluster::Time created) {
  if (owner.empty()) return created;
  const auto found = of_.find(owner);
  if (found != of_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    entries_.front().since = std::min(entries_.front().since, created);
    return entries_.front().since;
  }
  entries_.push_front({owner, created});
  of_.emplace(owner, entries_.begin());
  if (of_.size() > kMost) {
    of_.erase(entries_.back().owner);
    entries_.pop_back();
  }
  return created;
}

}  // namespace muster::engine
