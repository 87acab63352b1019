#include "http/worker_pool.hpp"

#include <system_error>
#include <utility>

#include "cluster/check.hpp"

namespace muster::http {

WorkerPool::WorkerPool(Options options, std::function<Work()> make_work)
    : options_(std::move(options)), make_work_(std::move(make_work)) {}

WorkerPool::~WorkerPool() { Join(); }

bool WorkerPool::Start() {
  const cluster::MutexLock lock(mu_);
  while (running_.size() < options_.keep && running_.size() < options_.max) {
    if (!SpawnLocked()) break;
  }
  return !running_.empty();
}

bool WorkerPool::SpawnLocked() {
  const std::uint64_t id = next_id_++;
  try {
    running_.emplace(id, std::thread([this, id] { Loop(id); }));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

bool WorkerPool::BeginBlocking() {
  bool spawned = true;
  bool allowed = false;
  {
    const cluster::MutexLock lock(mu_);
    const auto free_after = [this]()
                                MUSTER_REQUIRES(mu_) { return running_.size() - blocked_ - 1; };
    if (free_after() < options_.spare && running_.size() < options_.max) spawned = SpawnLocked();
    allowed = free_after() >= 1;
    if (allowed) ++blocked_;
  }
  if (!spawned && options_.on_event) options_.on_event("the system gives no more threads");
  return allowed;
}

void WorkerPool::EndBlocking() {
  const cluster::MutexLock lock(mu_);
  MUSTER_CHECK(blocked_ > 0);
  --blocked_;
}

void WorkerPool::Loop(std::uint64_t id) {
  const Work work = make_work_();
  while (true) {
    switch (work()) {
      case Outcome::kWorked:
        break;
      case Outcome::kIdle:
        if (LeaveIfSurplus(id)) return;
        break;
      case Outcome::kStop: {
        const cluster::MutexLock lock(mu_);
        Leave(id);
        return;
      }
    }
  }
}

bool WorkerPool::LeaveIfSurplus(std::uint64_t id) {
  const cluster::MutexLock lock(mu_);
  if (running_.size() <= options_.keep || running_.size() - blocked_ <= options_.spare + 1)
    return false;
  Leave(id);
  return true;
}

void WorkerPool::Leave(std::uint64_t id) {
  const auto found = running_.find(id);
  MUSTER_CHECK(found != running_.end());
  finished_.push_back(std::move(found->second));
  running_.erase(found);
  if (running_.empty()) left_.NotifyAll();
}

void WorkerPool::Reap() {
  std::vector<std::thread> finished;
  {
    const cluster::MutexLock lock(mu_);
    finished.swap(finished_);
  }
  for (std::thread& thread : finished) thread.join();
}

void WorkerPool::Join() {
  {
    const cluster::MutexLock lock(mu_);
    while (!running_.empty()) left_.Wait(mu_);
  }
  Reap();
}

std::size_t WorkerPool::size() const {
  const cluster::MutexLock lock(mu_);
  return running_.size();
}

std::size_t WorkerPool::blocked() const {
  const cluster::MutexLock lock(mu_);
  return blocked_;
}

}  // namespace muster::http
