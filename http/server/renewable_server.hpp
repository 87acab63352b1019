// RenewableServer: a server whose options change while it serves. The next server begins beside the
// present one, on the same socket where the address stays; then the present one accepts no more,
// answers what has begun and ends. No caller is refused meanwhile.
//
//   RenewableServer server([&](Server& one) { one.Handle(…); });
//   if (Status started = server.Start(options); …) …
//   auto next = server.Prepare(changed, SameAddress::kYes);  // an error: nothing has changed
//   server.Adopt(*std::move(next), 60s);
//
// Owned by the caller. Start, Prepare, Adopt and Stop from one thread, the others from any once
// Start has returned.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "http/server/server.hpp"

namespace muster::http {

enum class SameAddress { kNo, kYes };

class RenewableServer {
 public:
  // `mount` gives a server its routes.
  explicit RenewableServer(std::function<void(Server&)> mount) : mount_(std::move(mount)) {}
  ~RenewableServer() { Stop(); }
  RenewableServer(const RenewableServer&) = delete;
  RenewableServer& operator=(const RenewableServer&) = delete;

  cluster::Status Start(ServerOptions options);
  // A server that accepts already; dropping it is as if it had never been, for all but those who
  // were quick enough to call it.
  struct Next {
    std::unique_ptr<Server> server;
    SameAddress same = SameAddress::kNo;
  };
  cluster::Result<Next> Prepare(ServerOptions options, SameAddress same) const;
  // The one before has `grace` for what has begun.
  void Adopt(Next next, std::chrono::milliseconds grace);

  std::uint16_t port() const { return present()->port(); }
  // Of all servers together.
  ServerStats stats() const;
  // As those of Server, for all servers.
  bool Drain(std::chrono::milliseconds timeout);
  void Stop();

 private:
  struct Past {
    std::shared_ptr<Server> server;
    std::shared_ptr<std::atomic<bool>> ended;
    std::thread end;
  };

  // Lets go of servers that have ended.
  void ForgetEndedLocked() MUSTER_REQUIRES(mu_);

  std::vector<std::shared_ptr<Server>> All() const;

  std::shared_ptr<Server> present() const {
    const cluster::MutexLock lock(mu_);
    return present_;
  }

  const std::function<void(Server&)> mount_;
  mutable cluster::Mutex mu_;
  std::shared_ptr<Server> present_ MUSTER_GUARDED_BY(mu_);
  std::vector<Past> past_ MUSTER_GUARDED_BY(mu_);
  ServerStats forgotten_ MUSTER_GUARDED_BY(mu_);  // what those have counted
};

}  // namespace muster::http
