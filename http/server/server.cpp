#include "http/server/server.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "http/connections/message_text.hpp"
#include "http/server/allocator.hpp"
#include "http/server/server_impl.hpp"

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

constexpr std::chrono::milliseconds kTick{100};  // how late a deadline may be noticed

}  // namespace

ServerShared::ServerShared(ServerOptions server_options)
    : options(std::move(server_options)),
      connections(options.max_connection_bytes),
      calls(options.max_buffered_bytes) {}

Server::Impl::Impl(ServerOptions options)
    : shared_(std::move(options)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      open_calls_(std::make_shared<OpenCalls>(epoll_.get())),
      table_(open_calls_->table),
      turns_(shared_.options.turns) {}

Server::Impl::~Impl() { Stop(); }

void Server::Impl::HandleInTurn(const std::string& method, const std::string& path,
                                Handler handler) {
  takes_turns_ = true;
  Handle(method, path,
         [this, handler = std::move(handler)](const Request& request, const Done& done) {
           const bool taken = turns_.Add(request.peer, [this, &handler, request, done] {
             try {
               done(handler(request));
             } catch (...) {
               ++shared_.handler_exceptions;
               done(ErrorResponse(500, "internal error"));
             }
           });
           if (taken) return;
           ++shared_.refused_full;
           // What the caller has sent behind it is not looked at: refusing takes time, too.
           Response refused = ErrorResponse(503, "too many of your calls wait, try again");
           refused.close = true;
           done(std::move(refused));
         });
}

Result<std::unique_ptr<Listener>> Server::Impl::ShareListener() const {
  const cluster::MutexLock lock(mu_);
  if (listener_ == nullptr) return Error{Code::kConflict, "the server accepts no more", ""};
  return listener_->Share();
}

Status Server::Impl::Start(const Impl* beside) {
  MUSTER_CHECK(!started_);
  if (epoll_.get() < 0 || stop_event_.get() < 0)
    return Error{Code::kIo, "the system gives no epoll", ""};
  if (shared_.options.tls.has_value()) {
    Result<std::unique_ptr<ServerTls>> made = ServerTls::Create(*shared_.options.tls);
    if (!made.ok()) return made.error();
    tls_ = *std::move(made);
    shared_.tls = tls_.get();
  }
  Result<std::unique_ptr<Listener>> listening =
      beside != nullptr ? beside->ShareListener()
                        : Listener::Listen(shared_.options.host, shared_.options.port);
  if (!listening.ok()) return listening.error();
  port_ = listening.value()->port();

  // Writing to a connection that its caller has left must be an error, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  const std::size_t wanted = shared_.options.max_connections + 512;
  if (const std::size_t files = RaiseFileLimit(wanted); files < wanted) {
    Report("the limit of open files is " + std::to_string(files) + ", " + std::to_string(wanted) +
           " would serve all allowed connections");
  }
  epoll_event stop{};
  stop.events = EPOLLIN;
  stop.data.u64 = kStopEvent;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_event_.get(), &stop);

  started_ = true;
  if (!StartWorkers() || (takes_turns_ && !turns_.Start()))
    return Error{Code::kExhausted, "the system gives no threads", ""};
  timekeeper_ = std::thread([this] { KeepTime(); });
  const cluster::MutexLock lock(mu_);
  listener_ = *std::move(listening);
  ArmListenerLocked(EPOLL_CTL_ADD);
  return Ok{};
}

bool Server::Impl::StartWorkers() {
  const cluster::MutexLock lock(mu_);
  try {
    while (workers_.size() < shared_.options.workers) {
      workers_.emplace_back([this] { Work(); });
    }
  } catch (const std::system_error&) {
    Report("the system gives no more threads: " + std::to_string(workers_.size()) + " of " +
           std::to_string(shared_.options.workers) + " serve");
  }
  return !workers_.empty();
}

void Server::Impl::KeepTime() {
  std::vector<char> scratch(kScratchBytes);
  SteadyTime next_certificate_check = Now();
  while (true) {
    {
      const cluster::MutexLock lock(mu_);
      if (!stopping_) tick_.WaitFor(mu_, kTick);
      if (stopping_) return;
      if (starved_ && listener_ != nullptr) ArmListenerLocked(EPOLL_CTL_MOD);
    }
    const SteadyTime now = Now();
    for (const ConnectionTable::Claimed& claimed : table_.ClaimExpired(now)) {
      Settle(claimed, claimed.connection->Expire(now, {scratch.data(), scratch.size()}));
    }
    TrimWhenIdle(now);
    // A connection may have been parked between Drain's nudge and its own look at the flag.
    if (shared_.draining) table_.NudgeParked();
    if (tls_ && now >= next_certificate_check) {
      CheckCertificates();
      next_certificate_check = now + shared_.options.tls->reload_interval;
    }
  }
}

void Server::Impl::TrimWhenIdle(SteadyTime now) {
  const std::size_t peak = shared_.connections.TakePeak() + shared_.calls.TakePeak();
  if (trim_.Due(now, peak, shared_.answered_bytes.exchange(0))) ReturnFreePages();
}

void Server::Impl::CheckCertificates() {
  if (const std::optional<Status> reloaded = tls_->ReloadIfChanged()) CountReload(*reloaded);
}

Status Server::Impl::ReloadCertificates() {
  if (tls_ == nullptr) return Error{Code::kInvalidArgument, "this server has no certificates", ""};
  Status reloaded = tls_->Reload();
  CountReload(reloaded);
  return reloaded;
}

void Server::Impl::CountReload(const Status& status) {
  if (status.ok()) {
    ++shared_.certificate_reloads;
    Report("certificates reloaded");
  } else {
    Report("certificates not reloaded, the old ones stay: " + status.error().ToString());
  }
}

void Server::Impl::StopAccepting(bool take_backlog) {
  const cluster::MutexLock lock(mu_);
  if (listener_ == nullptr) return;
  // A client in the backlog considers itself connected and may have sent a request.
  while (take_backlog && AcceptOneLocked()) {
  }
  // Closing takes it out only when no other server has a handle on the socket.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_->fd(), nullptr);
  listener_.reset();
}

void Server::Impl::HandOver(bool same_socket) {
  shared_.patient = true;
  shared_.draining = true;
  StopAccepting(!same_socket);
  table_.NudgeParked();
}

bool Server::Impl::Drain(std::chrono::milliseconds timeout) {
  shared_.patient = false;
  shared_.draining = true;
  StopAccepting();
  table_.NudgeParked();
  return table_.WaitUntilEmpty(timeout);
}

void Server::Impl::Stop() {
  shared_.draining = true;
  StopAccepting();
  {
    const cluster::MutexLock lock(mu_);
    if (stopping_) return;
    stopping_ = true;
    tick_.NotifyAll();
  }
  if (!started_) return;
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(stop_event_.get(), &one, sizeof one) == sizeof one);
  std::vector<std::thread> workers;
  {
    const cluster::MutexLock lock(mu_);
    workers.swap(workers_);
  }
  for (std::thread& worker : workers) worker.join();
  if (timekeeper_.joinable()) timekeeper_.join();
  turns_.Stop();
  table_.RemoveParked();
}

ServerStats Server::Impl::stats() const {
  ServerStats stats;
  stats.connections = table_.size();
  {
    const cluster::MutexLock lock(mu_);
    stats.workers = workers_.size();
  }
  stats.open_calls = open_calls_->open;
  stats.buffered_bytes = shared_.calls.bytes();
  stats.connection_bytes = shared_.connections.bytes();
  stats.accepted = shared_.accepted;
  stats.requests = shared_.requests;
  stats.refused_full = shared_.refused_full;
  stats.displaced = shared_.displaced;
  stats.refused_bad = shared_.refused_bad;
  stats.refused_client = shared_.refused_client;
  stats.timeouts = shared_.timeouts;
  stats.tls_failures = shared_.tls_failures;
  stats.handler_exceptions = shared_.handler_exceptions;
  stats.certificate_reloads = shared_.certificate_reloads;
  return stats;
}

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Server::~Server() = default;

void Server::Handle(const std::string& method, const std::string& path, Handler handler) {
  impl_->Handle(method, path,
                [handler = std::move(handler)](const Request& request, const Done& done) {
                  done(handler(request));
                });
}
void Server::HandleLater(const std::string& method, const std::string& path, LaterHandler handler) {
  impl_->Handle(method, path, std::move(handler));
}
void Server::HandleInTurn(const std::string& method, const std::string& path, Handler handler) {
  impl_->HandleInTurn(method, path, std::move(handler));
}
Status Server::Start(const Server* beside) {
  return impl_->Start(beside == nullptr ? nullptr : beside->impl_.get());
}
std::uint16_t Server::port() const { return impl_->port(); }
void Server::HandOver(bool same_socket) { impl_->HandOver(same_socket); }
bool Server::WaitUntilQuiet(std::chrono::milliseconds timeout) {
  return impl_->WaitUntilEmpty(timeout);
}
bool Server::Drain(std::chrono::milliseconds timeout) { return impl_->Drain(timeout); }
void Server::Stop() { impl_->Stop(); }
Status Server::ReloadCertificates() { return impl_->ReloadCertificates(); }
ServerStats Server::stats() const { return impl_->stats(); }

ServerStats& ServerStats::operator+=(const ServerStats& more) {
  // One name for each field: who adds a field hears of it here.
  const auto& [more_connections, more_workers, more_open_calls, more_buffered, more_places,
               more_accepted, more_requests, more_full, more_displaced, more_bad, more_client,
               more_timeouts, more_tls, more_exceptions, more_reloads] = more;
  connections += more_connections;
  workers += more_workers;
  open_calls += more_open_calls;
  buffered_bytes += more_buffered;
  connection_bytes += more_places;
  accepted += more_accepted;
  requests += more_requests;
  refused_full += more_full;
  displaced += more_displaced;
  refused_bad += more_bad;
  refused_client += more_client;
  timeouts += more_timeouts;
  tls_failures += more_tls;
  handler_exceptions += more_exceptions;
  certificate_reloads += more_reloads;
  return *this;
}

}  // namespace muster::http
