#include "kube/api/step_thread.hpp"

#include <catch2/catch.hpp>
#include <chrono>

namespace muster::kube {
namespace {

using cluster::MutexLock;
using cluster::Time;

// Counts steps, and waits for them for as long as a slow machine may need.
class Steps {
 public:
  void Count() {
    const MutexLock lock(mu_);
    ++count_;
    changed_.NotifyAll();
  }
  bool Reach(int wanted) {
    const MutexLock lock(mu_);
    for (int tries = 0; count_ < wanted && tries < 600; ++tries) {
      changed_.WaitFor(mu_, std::chrono::milliseconds(100));
    }
    return count_ >= wanted;
  }
  int count() {
    const MutexLock lock(mu_);
    return count_;
  }

 private:
  cluster::Mutex mu_;
  cluster::CondVar changed_;
  int count_ MUSTER_GUARDED_BY(mu_) = 0;
};

TEST_CASE("a step is made when it is due, or when poked", "[kube][thread]") {
  Steps steps;
  Time next = Time::Never();
  SECTION("poked") {
    StepThread thread([&](const Clocks&) {
      steps.Count();
      return next;
    });
    CHECK(steps.Reach(1));
    thread.Poke();
    CHECK(steps.Reach(2));
    thread.Stop();
    thread.Poke();
    CHECK(steps.count() == 2);
  }
  SECTION("due") {
    StepThread thread([&](const Clocks& now) {
      steps.Count();
      return now.steady + cluster::Duration(1);
    });
    CHECK(steps.Reach(5));
  }
}

TEST_CASE("both clocks go forward from sensible values", "[kube][thread]") {
  const Clocks first = ReadClocks();
  const Clocks second = ReadClocks();
  CHECK(second.steady >= first.steady);
  CHECK(first.wall > Time(1'700'000'000'000));
}

}  // namespace
}  // namespace muster::kube
