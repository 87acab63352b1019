// CallerTurns: work that takes long, on threads of its own, in turns between callers.
//
//   Add ──▶ waits (in order, by caller) ──▶ runs: `threads` at a time, `each` of one caller
//     └──▶ refused: so much of that caller, or of all, waits already
//
// A caller with much to do thus takes no more than `each` threads, and whoever comes new waits for
// no more than the job of each other caller that is before it. The threads that read requests are
// others, so what is answered by them (probes) waits for none of this.
//
// Owned by Server. Add from any thread, between Start and Stop.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cluster/base/mutex.hpp"

namespace muster::http {

class CallerTurns {
 public:
  struct Limits {
    std::size_t threads = 4;
    std::size_t each = 1;             // of them, for one caller
    std::size_t waiting_each = 64;    // of one caller
    std::size_t waiting_all = 1'024;  // of all
  };
  // Must not throw.
  using Job = std::function<void()>;

  explicit CallerTurns(Limits limits) : limits_(limits) {}
  ~CallerTurns() { Stop(); }
  CallerTurns(const CallerTurns&) = delete;
  CallerTurns& operator=(const CallerTurns&) = delete;

  // False when the system gives not one thread.
  bool Start();
  // Jobs that wait are dropped, those that run are waited for. Idempotent.
  void Stop();
  // False: it is not taken.
  bool Add(const std::string& caller, Job job);

 private:
  struct Caller {
    std::deque<Job> waiting;
    std::size_t running = 0;
    bool in_line = false;
  };

  void Work();
  // It has something that may run, and is not in line yet.
  void Queue(const std::string& name, Caller& caller) MUSTER_REQUIRES(mu_);

  const Limits limits_;
  cluster::Mutex mu_;
  cluster::CondVar more_;
  std::map<std::string, Caller> callers_ MUSTER_GUARDED_BY(mu_);
  std::deque<std::string> line_ MUSTER_GUARDED_BY(mu_);
  std::size_t waiting_ MUSTER_GUARDED_BY(mu_) = 0;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;  // Start and Stop
};

}  // namespace muster::http
