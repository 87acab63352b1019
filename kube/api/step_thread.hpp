// StepThread: runs a machine that is given the time. The machine does what is due and says when it
// wants to be called next; the thread sleeps in between. Stop and Poke may be called from any
// thread, Stop not from the step itself.
#pragma once

#include <functional>
#include <thread>

#include "cluster/base/mutex.hpp"
#include "cluster/base/units.hpp"

namespace muster::kube {

// Both clocks at one moment. What waits or expires goes by `steady`, which nobody sets and which
// counts the time in which the machine was suspended; `wall` is for people to read.
struct Clocks {
  cluster::Time steady;  // milliseconds since some start
  cluster::Time wall;    // milliseconds since 1970
};

Clocks ReadClocks();

class StepThread {
 public:
  // Returns the steady time of the next call; Time::Never(): when poked.
  using Step = std::function<cluster::Time(const Clocks& now)>;

  explicit StepThread(Step step);
  ~StepThread();
  StepThread(const StepThread&) = delete;
  StepThread& operator=(const StepThread&) = delete;

  // Calls the step soon, whatever it said.
  void Poke();
  // Returns when the thread has ended. Twice is once.
  void Stop();

 private:
  void Run();
  // False when it is time to end.
  bool WaitUntil(cluster::Time due);

  const Step step_;
  cluster::Mutex mu_;
  cluster::CondVar changed_;
  bool poked_ MUSTER_GUARDED_BY(mu_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace muster::kube
