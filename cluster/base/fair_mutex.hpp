// FairMutex: a mutex that a waiting thread gets before its holder can take it again. For
// work that is done in slices so that others are let in between: a std::mutex that is unlocked and
// locked again at once nearly always stays with its holder.
#pragma once

#include "cluster/base/mutex.hpp"

namespace muster::cluster {

class MUSTER_ANNOTATE(capability("mutex")) FairMutex {
 public:
  // Of its parts the analysis need not know: the holder of `mu_` has this one.
  void Lock() MUSTER_ANNOTATE(acquire_capability()) MUSTER_ANNOTATE(no_thread_safety_analysis) {
    turn_.Lock();  // kept while waiting: nobody overtakes
    mu_.Lock();
    turn_.Unlock();
  }
  void Unlock() MUSTER_ANNOTATE(release_capability()) MUSTER_ANNOTATE(no_thread_safety_analysis) {
    mu_.Unlock();
  }

 private:
  Mutex turn_;
  Mutex mu_;
};

class MUSTER_ANNOTATE(scoped_lockable) FairMutexLock {
 public:
  explicit FairMutexLock(FairMutex& mu) MUSTER_ANNOTATE(acquire_capability(mu)) : mu_(mu) {
    mu_.Lock();
  }
  ~FairMutexLock() MUSTER_ANNOTATE(release_capability()) { mu_.Unlock(); }
  FairMutexLock(const FairMutexLock&) = delete;
  FairMutexLock& operator=(const FairMutexLock&) = delete;

 private:
  FairMutex& mu_;
};

}  // namespace muster::cluster
