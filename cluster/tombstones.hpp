// Tombstones: the UIDs that were removed last, so that late duplicates do not bring an object back.
//
// Bounded: the oldest is forgotten when `limit` is passed. Owned by ClusterState; not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>

namespace muster::cluster {

class Tombstones {
 public:
  explicit Tombstones(size_t limit) : limit_(limit) {}

  // A UID that is there already keeps its age.
  void Add(const std::string& uid) {
    const auto [at, added] = uids_.insert(uid);
    if (!added) return;
    oldest_first_.push_back(&*at);
    if (oldest_first_.size() <= limit_) return;
    uids_.erase(uids_.find(*oldest_first_.front()));
    oldest_first_.pop_front();
  }
  bool Contains(const std::string& uid) const { return uids_.contains(uid); }
  size_t size() const { return uids_.size(); }

 private:
  size_t limit_;
  std::unordered_set<std::string> uids_;
  std::deque<const std::string*> oldest_first_;  // elements of uids_, which stay where they are
};

}  // namespace muster::cluster
