// Watch: one subscriber's view of what happens in the ApiServer, pulled event by event. WatchLog:
// the events that some Watch has not read.
//
// A Watch must not outlive its ApiServer, which owns the WatchLog. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "cluster/base/units.hpp"
#include "sim/api_server/records.hpp"

namespace muster::sim {

enum class Change { kAdded, kModified, kDeleted };

struct WatchEvent {
  Change change = Change::kAdded;
  Object object;  // kDeleted: as it was last
  int64_t resource_version = 0;
  cluster::Time at;  // when it happened
};

// Which kinds of object a subscriber wants.
struct Kinds {
  bool nodes = false;
  bool pods = false;
  bool pod_groups = false;
  bool jobs = false;
  bool others = false;
  bool requests = false;
  bool Wants(const Object& object) const;
};

class Watch;

class WatchLog {
 public:
  // Keeps the event for the watches and tells them.
  void Add(WatchEvent event);

 private:
  friend class Watch;
  uint64_t end() const { return begin_ + log_.size(); }
  const WatchEvent& event(uint64_t number) const { return log_[number - begin_]; }
  void Detach(Watch& watch);
  // Drops what every watch has read. Costs O(watches) once per doubling of the log.
  void Trim();

  std::deque<WatchEvent> log_;
  uint64_t begin_ = 0;  // number of log_.front()
  size_t trim_at_ = 256;
  std::vector<Watch*> watches_;
};

class Watch {
 public:
  // `on_event` may be empty.
  Watch(WatchLog& log, Kinds kinds, std::function<void()> on_event);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The oldest event not taken yet, null when there is none. Valid until the next call on this
  // Watch or a write.
  const WatchEvent* Peek();
  // Takes the event that Peek shows.
  void Pop() { ++cursor_; }

 private:
  friend class WatchLog;

  WatchLog& log_;
  const Kinds kinds_;
  uint64_t cursor_;  // number of the next event to look at
  std::function<void()>
      on_event_;  // called after every event of these kinds; must not write to the ApiServer
};

}  // namespace muster::sim
