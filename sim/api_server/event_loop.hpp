// EventLoop: the simulated cluster's clock. Runs what was posted in order of (time, order of
// posting).
//
// The time is virtual in `simulate` (it jumps from one event to the next) and follows the wall
// clock in `serve`, where a thread calls RunDue(now) whenever NextDue() has come. Owned by
// sim::Cluster; one thread at a time.
//
//   EventLoop loop;
//   loop.Post(loop.now() + Seconds(3), [&] { … });
//   loop.RunUntilIdle(Time::Never());
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/base/units.hpp"

namespace muster::sim {

class EventLoop {
 public:
  using Task = std::function<void()>;

  explicit EventLoop(cluster::Time start = cluster::Time()) : now_(start) {}
  ~EventLoop() = default;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  cluster::Time now() const { return now_; }
  // Runs `task` at `at` (in the past: now), after everything posted earlier for the same time.
  // Never: not at all.
  void Post(cluster::Time at, Task task) { Push(at, std::move(task), false); }
  void Post(Task task) { Push(now_, std::move(task), false); }
  // As Post, for housekeeping that does not keep RunUntilIdle going.
  void PostBackground(cluster::Time at, Task task) { Push(at, std::move(task), true); }

  // 1. Runs one event; false when there is none.
  bool RunOne();
  // 2. Runs everything due up to and including `time`, then the time is `time`. Returns how many
  // events ran.
  int64_t RunUntil(cluster::Time time);
  // 3. Runs until only background events are left, or until the next event is after `limit`. True
  // when idle.
  bool RunUntilIdle(cluster::Time limit);
  // 4. For a loop that follows a real clock: the time is `now` (never less than before), and what
  // is due runs, at most `most` events, so that a caller can let others in. True when all of it
  // has.
  bool RunDue(cluster::Time now, int64_t most);

  // When the next event is due; Never when there is none. (It may turn out to be a stopped timer.)
  cluster::Time NextDue() const {
    const Event* next = Next();
    return next == nullptr ? cluster::Time::Never() : next->at;
  }
  // Nothing but background events and stopped timers is left.
  bool idle() const { return foreground_ == 0; }
  int64_t events_run() const { return events_run_; }
  size_t pending() const { return heap_.size() + present_.size(); }
  // Called after every event; used by auditors. Null: none.
  void SetAfterEvent(Task task) { after_event_ = std::move(task); }

 private:
  struct Event {
    cluster::Time at;
    uint64_t order = 0;
    bool background = false;
    Task task;
    // std::push_heap keeps the greatest in front, so "greater" is "earlier".
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  friend class Timer;
  void Push(cluster::Time at, Task task, bool background);
  const Event* Next() const {
    if (present_.empty()) return heap_.empty() ? nullptr : &heap_.front();
    return heap_.empty() || heap_.front() < present_.front() ? &present_.front() : &heap_.front();
  }

  cluster::Time now_;
  uint64_t next_order_ = 0;
  int64_t foreground_ = 0;  // events to come that are not background, and timers that are set
  int64_t events_run_ = 0;
  std::vector<Event> heap_;    // events for later
  std::deque<Event> present_;  // events for the time they were posted at, most of all, in order
  Task after_event_;
};

// Timer: one callback that can be set, moved and stopped. It may end before its loop does.
class Timer {
 public:
  // `background`: it does not keep RunUntilIdle going.
  Timer(EventLoop& loop, bool background, EventLoop::Task task);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Fires once at `at`, instead of whenever it was set to; Never stops it.
  void Set(cluster::Time at);
  void Stop() { Set(cluster::Time::Never()); }
  cluster::Time due() const;

 private:
  struct State;
  static void Wake(const std::shared_ptr<State>& state);
  static void PostWake(const std::shared_ptr<State>& state, cluster::Time at);
  std::shared_ptr<State> state_;  // shared with the loop's events
};

}  // namespace muster::sim
