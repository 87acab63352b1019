// Server::Impl: the server's threads and what they share. Internal; server.hpp tells the
// story.
//
// server.cpp holds its life (start, time, drain, stop), server_work.cpp what workers do.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/base/check.hpp"
#include "cluster/base/mutex.hpp"
#include "http/connections/connection_table.hpp"
#include "http/connections/open_call.hpp"
#include "http/server/idle_trim.hpp"
#include "http/server/listener.hpp"
#include "http/server/router.hpp"
#include "http/server/server.hpp"
#include "http/tls/server_tls.hpp"

namespace muster::http {

inline SteadyTime Now() { return std::chrono::steady_clock::now(); }

constexpr std::uint64_t kListenerEvent = 0;  // ids in epoll, below ConnectionTable::kFirstId
constexpr std::uint64_t kStopEvent = 1;
constexpr std::size_t kScratchBytes = 64 * 1024;

// A file descriptor that is closed at the end.
class OwnedFd {
 public:
  explicit OwnedFd(int fd) : fd_(fd) {}
  ~OwnedFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

class Server::Impl {
 public:
  explicit Impl(ServerOptions options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Handle(const std::string& method, const std::string& path, LaterHandler handler) {
    MUSTER_CHECK(!started_);
    router_.Add(method, path, std::move(handler));
  }

  void HandleInTurn(const std::string& method, const std::string& path, Handler handler);

  cluster::Status Start(const Impl* beside);
  cluster::Result<std::unique_ptr<Listener>> ShareListener() const;
  std::uint16_t port() const { return port_; }
  bool Drain(std::chrono::milliseconds timeout);
  bool WaitUntilEmpty(std::chrono::milliseconds timeout) { return table_.WaitUntilEmpty(timeout); }
  void HandOver(bool same_socket);
  void Stop();
  cluster::Status ReloadCertificates();
  ServerStats stats() const;

 private:
  using Scratch = ServerConnection::Scratch;

  // False when the system gives not one thread.
  bool StartWorkers();
  void Work();

  void AcceptSome();
  // False when there is nobody (more) to accept.
  bool AcceptOneLocked() MUSTER_REQUIRES(mu_);
  void Admit(int fd, std::string peer, MemoryLedger::Kept kept);
  void TurnAway(int fd, std::string peer);
  void Serve(ConnectionTable::Claimed claimed, Scratch scratch);
  // Gives the connection back while the call is open; the connection again, or null when the answer
  // has not come, another thread has the connection or it is gone.
  ConnectionTable::Claimed HandleRequest(const ConnectionTable::Claimed& claimed);
  // Parks or removes as `next` says; kRequest is parked for some worker.
  void Settle(const ConnectionTable::Claimed& claimed, ServerConnection::Next next);

  void KeepTime();
  void TrimWhenIdle(SteadyTime now);
  void CheckCertificates();
  void CountReload(const cluster::Status& status);
  void ArmListenerLocked(int operation) MUSTER_REQUIRES(mu_);  // EPOLL_CTL_ADD, EPOLL_CTL_MOD
  void StopAccepting(bool take_backlog = true);
  void Report(const std::string& event) const {
    if (shared_.options.on_event) shared_.options.on_event(event);
  }

  // Constant after Start().
  ServerShared shared_;
  Router router_;
  const OwnedFd epoll_;
  const OwnedFd stop_event_;
  std::unique_ptr<ServerTls> tls_;
  bool started_ = false;
  bool takes_turns_ = false;  // some handler does
  std::uint16_t port_ = 0;

  // With locks of their own. Calls that are open keep them.
  const std::shared_ptr<OpenCalls> open_calls_;
  ConnectionTable& table_;
  CallerTurns turns_;

  mutable cluster::Mutex mu_;
  cluster::CondVar tick_;
  // Null before Start and after Drain.
  std::unique_ptr<Listener> listener_ MUSTER_GUARDED_BY(mu_);
  // Out of descriptors: accepting goes on at the next tick.
  bool starved_ MUSTER_GUARDED_BY(mu_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::vector<std::thread> workers_ MUSTER_GUARDED_BY(mu_);
  std::thread timekeeper_;
  IdleTrim trim_;  // the timekeeper's
};

}  // namespace muster::http
