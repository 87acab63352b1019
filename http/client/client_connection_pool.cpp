#include "http/client/client_connection_pool.hpp"

#include <utility>

namespace muster::http {

using cluster::MutexLock;
using std::chrono::steady_clock;

PooledConnection ClientConnectionPool::Take(std::uint64_t generation) {
  std::vector<PooledConnection> dropped;  // closed after the lock
  const MutexLock lock(mu_);
  const steady_clock::time_point now = steady_clock::now();
  while (!idle_.empty()) {
    PooledConnection last = std::move(idle_.back());
    idle_.pop_back();
    if (last.generation == generation && now - last.idle_since < max_age_ &&
        !last.connection->stale())
      return last;
    dropped.push_back(std::move(last));
  }
  return {};
}

void ClientConnectionPool::GiveBack(PooledConnection lent) {
  PooledConnection dropped;
  lent.idle_since = steady_clock::now();
  const MutexLock lock(mu_);
  if (max_idle_ == 0) return;
  if (idle_.size() >= max_idle_) {
    dropped = std::move(idle_.front());
    idle_.erase(idle_.begin());
  }
  idle_.push_back(std::move(lent));
}

void ClientConnectionPool::Clear() {
  std::vector<PooledConnection> dropped;
  const MutexLock lock(mu_);
  dropped.swap(idle_);
}

std::size_t ClientConnectionPool::idle() const {
  const MutexLock lock(mu_);
  return idle_.size();
}

}  // namespace muster::http
