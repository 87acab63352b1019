// Mutex, MutexLock and CondVar: std's, with the annotations by which `clang++ -Wthread-safety`
// proves at compile time that guarded fields are touched only under their lock. (clang does not see
// std::lock_guard, hence the wrapper.)
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define MUSTER_ANNOTATE(x) __attribute__((x))
#else
#define MUSTER_ANNOTATE(x)
#endif

#define MUSTER_GUARDED_BY(mu) MUSTER_ANNOTATE(guarded_by(mu))
#define MUSTER_REQUIRES(...) MUSTER_ANNOTATE(requires_capability(__VA_ARGS__))
#define MUSTER_EXCLUDES(...) MUSTER_ANNOTATE(locks_excluded(__VA_ARGS__))

namespace muster::cluster {

class MUSTER_ANNOTATE(capability("mutex")) Mutex {
 public:
  void Lock() MUSTER_ANNOTATE(acquire_capability()) { mu_.lock(); }
  void Unlock() MUSTER_ANNOTATE(release_capability()) { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class MUSTER_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mu) MUSTER_ANNOTATE(acquire_capability(mu)) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() MUSTER_ANNOTATE(release_capability()) { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Waits on a Mutex that the caller holds; it is held again on return. Wake-ups may be spurious.
class CondVar {
 public:
  void Wait(Mutex& mu) MUSTER_REQUIRES(mu) {
    std::unique_lock<std::mutex> held(mu.mu_, std::adopt_lock);
    cv_.wait(held);
    held.release();
  }
  // False when the timeout passed first.
  bool WaitFor(Mutex& mu, std::chrono::milliseconds timeout) MUSTER_REQUIRES(mu) {
    std::unique_lock<std::mutex> held(mu.mu_, std::adopt_lock);
    const bool woken = cv_.wait_for(held, timeout) == std::cv_status::no_timeout;
    held.release();
    return woken;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace muster::cluster
