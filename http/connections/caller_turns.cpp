#include "http/connections/caller_turns.hpp"

#include <system_error>
#include <utility>

namespace muster::http {

bool CallerTurns::Start() {
  try {
    while (threads_.size() < limits_.threads) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    // Fewer serve as well.
  }
  return !threads_.empty();
}

void CallerTurns::Stop() {
  std::vector<std::deque<Job>> dropped;
  {
    const cluster::MutexLock lock(mu_);
    stopping_ = true;
    line_.clear();
    waiting_ = 0;
    for (auto& [name, caller] : callers_) dropped.push_back(std::exchange(caller.waiting, {}));
    more_.NotifyAll();
  }
  dropped.clear();  // their callers are told, without the lock
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool CallerTurns::Add(const std::string& caller, Job job) {
  const cluster::MutexLock lock(mu_);
  if (stopping_ || waiting_ >= limits_.waiting_all) return false;
  Caller& of = callers_[caller];
  if (of.waiting.size() >= limits_.waiting_each) return false;
  of.waiting.push_back(std::move(job));
  ++waiting_;
  Queue(caller, of);
  return true;
}

void CallerTurns::Queue(const std::string& name, Caller& caller) {
  if (caller.in_line || caller.waiting.empty() || caller.running >= limits_.each) return;
  caller.in_line = true;
  line_.push_back(name);
  more_.NotifyOne();
}

void CallerTurns::Work() {
  while (true) {
    std::string name;
    Job job;
    {
      const cluster::MutexLock lock(mu_);
      while (!stopping_ && line_.empty()) more_.Wait(mu_);
      if (stopping_) return;
      name = std::move(line_.front());
      line_.pop_front();
      Caller& caller = callers_.at(name);
      caller.in_line = false;
      job = std::move(caller.waiting.front());
      caller.waiting.pop_front();
      --waiting_;
      ++caller.running;
      Queue(name, caller);
    }
    job();
    job = nullptr;
    const cluster::MutexLock lock(mu_);
    Caller& caller = callers_.at(name);
    --caller.running;
    Queue(name, caller);
    if (caller.running == 0 && caller.waiting.empty()) callers_.erase(name);
  }
}

}  // namespace muster::http
