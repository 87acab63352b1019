#include "kube/api/step_thread.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace muster::kube {

using cluster::MutexLock;
using cluster::Time;

namespace {

// CLOCK_MONOTONIC stands still while a machine is suspended, and a lease does not.
Time ReadSteady() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Time(int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000);
}

}  // namespace

Clocks ReadClocks() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {ReadSteady(), Time(std::chrono::duration_cast<std::chrono::milliseconds>(wall).count())};
}

StepThread::StepThread(Step step) : step_(std::move(step)), thread_([this] { Run(); }) {}

StepThread::~StepThread() { Stop(); }

void StepThread::Poke() {
  const MutexLock lock(mu_);
  if (poked_) return;
  poked_ = true;
  changed_.NotifyAll();
}

void StepThread::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void StepThread::Run() {
  Time due = Time(0);
  while (WaitUntil(due)) due = step_(ReadClocks());
}

bool StepThread::WaitUntil(Time due) {
  // A wait never lasts longer, so that a jump of the clock is noticed.
  constexpr int64_t kLongest = 60'000;
  const MutexLock lock(mu_);
  while (!stopping_ && !poked_) {
    const int64_t left = due == Time::Never() ? kLongest : (due - ReadSteady()).value();
    if (left <= 0) break;
    changed_.WaitFor(mu_, std::chrono::milliseconds(std::min(left, kLongest)));
  }
  poked_ = false;
  return !stopping_;
}

}  // namespace muster::kube
