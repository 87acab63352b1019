// WorkerPool: threads that wait for work and may block in it, as many as it takes.
//
// Invariant: at least `spare` threads are free (waiting or about to wait) unless `max` is reached;
// then at least one, because BeginBlocking refuses the last. Surplus threads leave when they have
// been idle for a while.
//
// Owner: Server. BeginBlocking/EndBlocking from the pool's own threads, the rest from any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "cluster/mutex.hpp"

namespace muster::http {

class WorkerPool {
 public:
  // One call waits for work and does it. kIdle: nothing came for a while.
  enum class Outcome { kWorked, kIdle, kStop };
  using Work = std::function<Outcome()>;

  struct Options {
    std::size_t max = 4096;
    std::size_t spare = 2;                      // kept free while others are blocked
    std::size_t keep = 4;                       // never shrunk below
    std::function<void(const char*)> on_event;  // told when a thread cannot be made
  };

  // `make_work` runs once on each new thread; what it returns is called in a loop by that thread
  // only.
  WorkerPool(Options options, std::function<Work()> make_work);
  ~WorkerPool();  // Join()
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when not one thread could be made.
  bool Start();
  // The calling worker is about to run something that may block. False: every other worker is
  // blocked already and no more threads are to be had; do not block.
  bool BeginBlocking();
  void EndBlocking();

  // Joins the threads that have left. Now and then.
  void Reap();
  // Returns when all threads have left: `work` must return kStop from now on. Idempotent.
  void Join();

  std::size_t size() const;
  std::size_t blocked() const;

 private:
  bool SpawnLocked() MUSTER_REQUIRES(mu_);
  void Loop(std::uint64_t id);
  bool LeaveIfSurplus(std::uint64_t id);
  void Leave(std::uint64_t id) MUSTER_REQUIRES(mu_);

  const Options options_;
  const std::function<Work()> make_work_;

  mutable cluster::Mutex mu_;
  cluster::CondVar left_;
  std::uint64_t next_id_ MUSTER_GUARDED_BY(mu_) = 0;
  std::size_t blocked_ MUSTER_GUARDED_BY(mu_) = 0;  // threads between Begin and EndBlocking
  std::map<std::uint64_t, std::thread> running_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::thread> finished_
      MUSTER_GUARDED_BY(mu_);  // returned from Loop or about to; not yet joined
};

}  // namespace muster::http
