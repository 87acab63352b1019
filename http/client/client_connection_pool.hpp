// ClientConnectionPool: idle kept-alive connections, most recently used first, each with the
// generation of certificates that it was opened with. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "http/client/client_connection.hpp"

namespace muster::http {

// A connection and the generation of certificates (credentials.hpp) that it was opened with.
struct PooledConnection {
  std::unique_ptr<ClientConnection> connection;
  std::uint64_t generation = 0;
  std::chrono::steady_clock::time_point idle_since{};
};

class ClientConnectionPool {
 public:
  // The oldest go when there are more than `max_idle`; one that was idle for `max_age` is not lent.
  ClientConnectionPool(std::size_t max_idle, std::chrono::milliseconds max_age)
      : max_idle_(max_idle), max_age_(max_age) {}

  // Without a connection when none is left that is fresh, alive and of this generation.
  PooledConnection Take(std::uint64_t generation);
  void GiveBack(PooledConnection lent);
  void Clear();
  std::size_t idle() const;

 private:
  const std::size_t max_idle_;
  const std::chrono::milliseconds max_age_;
  mutable cluster::Mutex mu_;
  std::vector<PooledConnection> idle_ MUSTER_GUARDED_BY(mu_);  // last given back last
};

}  // namespace muster::http
