#include "extender/http_server.hpp"

#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

#include "cluster/check.hpp"
#include "cluster/mutex.hpp"
#include "extender/connection_table.hpp"
#include "extender/http_connection.hpp"
#include "extender/http_listener.hpp"
#include "extender/http_router.hpp"
#include "extender/httplib_processor.hpp"
#include "extender/tls_context.hpp"
#include "extender/worker_pool.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using Claimed = ConnectionTable::Claimed;
using Interest = ConnectionTable::Interest;
using Next = HttpConnection::Next;

constexpr std::uint64_t kListenerEvent = 0;  // both below ConnectionTable::kFirstId
constexpr std::uint64_t kStopEvent = 1;
constexpr std::chrono::milliseconds kTick{100};          // how late a deadline may be noticed
constexpr std::chrono::milliseconds kWorkerIdle{5'000};  // a surplus worker leaves after this
constexpr std::size_t kAcceptBatch = 64;
constexpr std::size_t kTurnAwayScratch = 4096;
constexpr std::size_t kRefusalSlots = 64;  // connections beyond the cap that are told so politely
constexpr std::size_t kRequestsInARow = 128;  // of one connection, before others get the worker
constexpr int kLargeBlock = 1024 * 1024;
constexpr std::size_t kScratchBytes = 64 * 1024;

SteadyTime Now() { return std::chrono::steady_clock::now(); }

// A file descriptor that is closed.
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

void SetUpProcess() {
  // Writing to a connection that its caller has left must be an error, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  // Large bodies and answers get pages of their own and give them back when freed. By default glibc
  // raises this limit after the first large free and then keeps the pages, once per arena.
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  ::mallopt(M_TRIM_THRESHOLD, kLargeBlock);
}

// cpp-httplib sets up its tables at the first request. Doing that before there are workers spares
// the first caller and makes the tables older than any thread that reads them.
void WarmUpLibrary(HttpShared& shared) {
  const HttpRouter no_routes;
  IncomingRequest request;
  request.head.method = "GET";
  request.head.target = "/";
  HttplibProcessor(no_routes, shared).Process(std::move(request));
}

// What one worker thread needs for itself.
struct WorkerTools {
  WorkerTools(const HttpRouter& router, HttpShared& shared) : processor(router, shared) {}

  HttpConnection::Scratch scratch() { return {buffer.get(), kScratchBytes}; }

  HttplibProcessor processor;
  // Left uninitialised: 1,024 parked workers should not own pages that they never wrote to.
  std::unique_ptr<char[]> buffer = std::make_unique_for_overwrite<char[]>(kScratchBytes);
};

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(HttpServerOptions options)
      : shared_(std::move(options)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        table_(epoll_.get()),
        pool_(PoolOptions(), [this] { return MakeWork(); }) {}
  ~Impl() { Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Handle(const std::string& method, const std::string& path, HttpHandler handler) {
    MUSTER_CHECK(!started_);
    router_.Add(method, path, std::move(handler));
  }

  Status Start();
  std::uint16_t port() const { return port_; }
  bool Drain(std::chrono::milliseconds timeout);
  void Stop();
  Status ReloadCertificates();
  HttpServerStats stats() const;

 private:
  WorkerPool::Options PoolOptions();
  WorkerPool::Work MakeWork();
  WorkerPool::Outcome WaitAndServe(WorkerTools& tools);

  void AcceptSome();
  // False when there is nobody (more) to accept.
  bool AcceptOneLocked() MUSTER_REQUIRES(mu_);
  void Admit(int fd, std::string peer);
  void TurnAway(int fd, std::string peer);
  void Serve(const Claimed& claimed, WorkerTools& tools);
  void HandleRequest(HttpConnection& connection, WorkerTools& tools);
  // Parks or removes as `next` says; kRequest is parked for some worker.
  void Settle(const Claimed& claimed, Next next);

  void KeepTime();
  void CheckCertificates();
  void CountReload(const Status& status);
  void ArmListenerLocked() MUSTER_REQUIRES(mu_);
  void StopAccepting();
  void Report(const std::string& event) const {
    if (shared_.options.on_event) shared_.options.on_event(event);
  }

  // Constant after Start().
  HttpShared shared_;
  HttpRouter router_;
  const OwnedFd epoll_;
  const OwnedFd stop_event_;
  std::unique_ptr<TlsContext> tls_;
  bool started_ = false;
  std::uint16_t port_ = 0;

  // Each with a lock of its own.
  ConnectionTable table_;
  WorkerPool pool_;

  mutable cluster::Mutex mu_;
  cluster::CondVar tick_;
  std::unique_ptr<HttpListener> listener_
      MUSTER_GUARDED_BY(mu_);  // null before Start and after Drain
  bool starved_ MUSTER_GUARDED_BY(mu_) =
      false;  // out of descriptors: accepting goes on at the next tick
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::atomic<bool> workers_leave_ = false;
  std::thread timekeeper_;
};

WorkerPool::Options HttpServer::Impl::PoolOptions() {
  WorkerPool::Options options;
  // Two at least: one may block, one stays free to say that all others do.
  options.max = std::max<std::size_t>(shared_.options.max_workers, 2);
  options.on_event = [this](const char* event) { Report(event); };
  return options;
}

Status HttpServer::Impl::Start() {
  MUSTER_CHECK(!started_);
  if (epoll_.get() < 0 || stop_event_.get() < 0)
    return Error{Code::kIo, "the system gives no epoll", ""};
  if (shared_.options.tls.has_value()) {
    Result<std::unique_ptr<TlsContext>> made = TlsContext::Create(*shared_.options.tls);
    if (!made.ok()) return made.error();
    tls_ = *std::move(made);
    shared_.tls = tls_.get();
  }
  Result<std::unique_ptr<HttpListener>> listening =
      HttpListener::Listen(shared_.options.host, shared_.options.port);
  if (!listening.ok()) return listening.error();
  port_ = listening.value()->port();

  SetUpProcess();
  const std::size_t wanted = shared_.options.max_connections + 512;
  if (const std::size_t files = RaiseFileLimit(wanted); files < wanted) {
    Report("the limit of open files is " + std::to_string(files) + ", " + std::to_string(wanted) +
           " would serve all allowed connections");
  }
  epoll_event stop{};
  stop.events = EPOLLIN;
  stop.data.u64 = kStopEvent;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_event_.get(), &stop);

  WarmUpLibrary(shared_);
  started_ = true;
  if (!pool_.Start()) return Error{Code::kExhausted, "the system gives no threads", ""};
  timekeeper_ = std::thread([this] { KeepTime(); });
  const cluster::MutexLock lock(mu_);
  listener_ = *std::move(listening);
  epoll_event accept{};
  accept.events = EPOLLIN | EPOLLONESHOT;
  accept.data.u64 = kListenerEvent;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_->fd(), &accept);
  return Ok{};
}

WorkerPool::Work HttpServer::Impl::MakeWork() {
  return [this, tools = std::make_shared<WorkerTools>(router_, shared_)] {
    return WaitAndServe(*tools);
  };
}

WorkerPool::Outcome HttpServer::Impl::WaitAndServe(WorkerTools& tools) {
  if (workers_leave_) return WorkerPool::Outcome::kStop;
  epoll_event event{};
  const int count = ::epoll_wait(epoll_.get(), &event, 1, static_cast<int>(kWorkerIdle.count()));
  if (count <= 0) return count == 0 ? WorkerPool::Outcome::kIdle : WorkerPool::Outcome::kWorked;
  if (event.data.u64 == kStopEvent) return WorkerPool::Outcome::kStop;
  if (event.data.u64 == kListenerEvent) {
    AcceptSome();
  } else if (const Claimed claimed = table_.Claim(event.data.u64); claimed.connection != nullptr) {
    Serve(claimed, tools);
  }
  return WorkerPool::Outcome::kWorked;
}

void HttpServer::Impl::AcceptSome() {
  bool starved_now = false;
  {
    const cluster::MutexLock lock(mu_);
    if (listener_ == nullptr) return;
    const bool starved_before = starved_;
    for (std::size_t i = 0; i < kAcceptBatch && AcceptOneLocked(); ++i) {
    }
    if (!starved_) ArmListenerLocked();
    starved_now = starved_ && !starved_before;
  }
  if (starved_now) Report("out of file descriptors: new connections wait");
}

bool HttpServer::Impl::AcceptOneLocked() {
  HttpListener::Accepted accepted = listener_->Accept();
  starved_ = accepted.outcome == HttpListener::Outcome::kExhausted;
  if (accepted.outcome != HttpListener::Outcome::kAccepted) return false;
  ++shared_.accepted;
  if (table_.size() < shared_.options.max_connections) {
    Admit(accepted.fd, std::move(accepted.peer));
  } else {
    TurnAway(accepted.fd, std::move(accepted.peer));
  }
  return true;
}

void HttpServer::Impl::Admit(int fd, std::string peer) {
  std::unique_ptr<Channel> channel = tls_ ? MakeTlsChannel(fd, *tls_) : MakePlainChannel(fd);
  if (channel == nullptr) return;
  table_.Park(table_.Add(std::make_unique<HttpConnection>(std::move(channel), std::move(peer),
                                                          shared_, Now())),
              Interest::kReadable);
}

void HttpServer::Impl::TurnAway(int fd, std::string peer) {
  ++shared_.refused_full;
  std::unique_ptr<Channel> channel = MakePlainChannel(fd);
  // A TLS caller could not read an answer before the handshake, which is the work we have no room
  // for.
  if (tls_ || table_.size() >= shared_.options.max_connections + kRefusalSlots) return;
  auto made = std::make_unique<HttpConnection>(std::move(channel), std::move(peer), shared_, Now());
  made->Refuse({503, "too many connections, try again"}, Now());
  HttpConnection* connection = made.get();
  const Claimed claimed{table_.Add(std::move(made)), connection};
  std::array<char, kTurnAwayScratch> scratch{};
  Settle(claimed, connection->Advance(Now(), {scratch.data(), scratch.size()}));
}

void HttpServer::Impl::Serve(const Claimed& claimed, WorkerTools& tools) {
  for (std::size_t served = 0;; ++served) {
    const Next next = claimed.connection->Advance(Now(), tools.scratch());
    if (next != Next::kRequest || served == kRequestsInARow) {
      Settle(claimed, next);
      return;
    }
    HandleRequest(*claimed.connection, tools);
  }
}

void HttpServer::Impl::HandleRequest(HttpConnection& connection, WorkerTools& tools) {
  if (!pool_.BeginBlocking()) {
    ++shared_.refused_full;
    connection.Refuse({503, "all workers are busy, try again"}, Now());
    return;
  }
  ProcessedAnswer answer = tools.processor.Process(connection.TakeRequest());
  pool_.EndBlocking();
  connection.Answer(std::move(answer.bytes), answer.close, Now());
}

void HttpServer::Impl::Settle(const Claimed& claimed, Next next) {
  switch (next) {
    case Next::kWaitReadable:
      table_.Park(claimed.id, Interest::kReadable);
      break;
    case Next::kWaitWritable:
      table_.Park(claimed.id, Interest::kWritable);
      break;
    case Next::kRequest:
      table_.Park(claimed.id, Interest::kNow);
      break;
    case Next::kClosed:
      table_.Remove(claimed.id);
      break;
  }
}

void HttpServer::Impl::KeepTime() {
  std::vector<char> scratch(kScratchBytes);
  SteadyTime next_certificate_check = Now();
  while (true) {
    {
      const cluster::MutexLock lock(mu_);
      if (!stopping_) tick_.WaitFor(mu_, kTick);
      if (stopping_) return;
      if (starved_ && listener_ != nullptr) ArmListenerLocked();
    }
    const SteadyTime now = Now();
    for (const Claimed& claimed : table_.ClaimExpired(now)) {
      Settle(claimed, claimed.connection->Expire(now, {scratch.data(), scratch.size()}));
    }
    // A connection may have been parked between Drain's nudge and its own look at the flag.
    if (shared_.draining) table_.NudgeParked();
    if (tls_ && now >= next_certificate_check) {
      CheckCertificates();
      next_certificate_check = now + shared_.options.tls->reload_interval;
    }
    pool_.Reap();
  }
}

void HttpServer::Impl::CheckCertificates() {
  if (const std::optional<Status> reloaded = tls_->ReloadIfChanged()) CountReload(*reloaded);
}

Status HttpServer::Impl::ReloadCertificates() {
  if (tls_ == nullptr) return Error{Code::kInvalidArgument, "this server has no certificates", ""};
  Status reloaded = tls_->Reload();
  CountReload(reloaded);
  return reloaded;
}

void HttpServer::Impl::CountReload(const Status& status) {
  if (status.ok()) {
    ++shared_.certificate_reloads;
    Report("certificates reloaded");
  } else {
    Report("certificates not reloaded, the old ones stay: " + status.error().ToString());
  }
}

void HttpServer::Impl::ArmListenerLocked() {
  epoll_event accept{};
  accept.events = EPOLLIN | EPOLLONESHOT;
  accept.data.u64 = kListenerEvent;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_->fd(), &accept);
}

void HttpServer::Impl::StopAccepting() {
  const cluster::MutexLock lock(mu_);
  if (listener_ == nullptr) return;
  // Who is in the backlog believes to be connected and may have sent a request.
  while (AcceptOneLocked()) {
  }
  listener_.reset();
}

bool HttpServer::Impl::Drain(std::chrono::milliseconds timeout) {
  shared_.draining = true;
  StopAccepting();
  table_.NudgeParked();
  return table_.WaitUntilEmpty(timeout);
}

void HttpServer::Impl::Stop() {
  shared_.draining = true;
  StopAccepting();
  {
    const cluster::MutexLock lock(mu_);
    if (stopping_) return;
    stopping_ = true;
    tick_.NotifyAll();
  }
  if (!started_) return;
  workers_leave_ = true;
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(stop_event_.get(), &one, sizeof one) == sizeof one);
  pool_.Join();
  if (timekeeper_.joinable()) timekeeper_.join();
  table_.RemoveParked();
}

HttpServerStats HttpServer::Impl::stats() const {
  HttpServerStats stats;
  stats.connections = table_.size();
  stats.workers = pool_.size();
  stats.handlers = pool_.blocked();
  stats.buffered_bytes = shared_.buffered_bytes;
  stats.accepted = shared_.accepted;
  stats.requests = shared_.requests;
  stats.refused_full = shared_.refused_full;
  stats.refused_bad = shared_.refused_bad;
  stats.refused_client = shared_.refused_client;
  stats.timeouts = shared_.timeouts;
  stats.tls_failures = shared_.tls_failures;
  stats.handler_exceptions = shared_.handler_exceptions;
  stats.certificate_reloads = shared_.certificate_reloads;
  return stats;
}

HttpServer::HttpServer(HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
HttpServer::~HttpServer() = default;

void HttpServer::Handle(const std::string& method, const std::string& path, HttpHandler handler) {
  impl_->Handle(method, path, std::move(handler));
}
Status HttpServer::Start() { return impl_->Start(); }
std::uint16_t HttpServer::port() const { return impl_->port(); }
bool HttpServer::Drain(std::chrono::milliseconds timeout) { return impl_->Drain(timeout); }
void HttpServer::Stop() { impl_->Stop(); }
Status HttpServer::ReloadCertificates() { return impl_->ReloadCertificates(); }
HttpServerStats HttpServer::stats() const { return impl_->stats(); }

}  // namespace muster::extender
