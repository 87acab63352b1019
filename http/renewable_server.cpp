#include "http/renewable_server.hpp"

#include <algorithm>

namespace muster::http {

using cluster::MutexLock;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

namespace {

void Add(const ServerStats& more, ServerStats* sum) {
  sum->connections += more.connections;
  sum->workers += more.workers;
  sum->open_calls += more.open_calls;
  sum->buffered_bytes += more.buffered_bytes;
  sum->accepted += more.accepted;
  sum->requests += more.requests;
  sum->refused_full += more.refused_full;
  sum->refused_bad += more.refused_bad;
  sum->refused_client += more.refused_client;
  sum->timeouts += more.timeouts;
  sum->tls_failures += more.tls_failures;
  sum->handler_exceptions += more.handler_exceptions;
  sum->certificate_reloads += more.certificate_reloads;
}

}  // namespace

Status RenewableServer::Start(ServerOptions options) {
  Result<Next> first = Prepare(std::move(options), SameAddress::kNo);
  if (!first.ok()) return first.error();
  const MutexLock lock(mu_);
  present_ = std::move(first->server);
  return Ok{};
}

Result<RenewableServer::Next> RenewableServer::Prepare(ServerOptions options,
                                                       SameAddress same) const {
  auto next = std::make_unique<Server>(std::move(options));
  mount_(*next);
  const std::shared_ptr<Server> beside = same == SameAddress::kYes ? present() : nullptr;
  if (Status started = next->Start(beside.get()); !started.ok()) return started.error();
  return Next{std::move(next), same};
}

void RenewableServer::Adopt(Next next, std::chrono::milliseconds grace) {
  const MutexLock lock(mu_);
  std::shared_ptr<Server> before = std::exchange(present_, std::move(next.server));
  before->HandOver(next.same == SameAddress::kYes);
  std::thread end([before, grace] {
    before->WaitUntilQuiet(grace);
    before->Drain(std::chrono::milliseconds(0));
    before->Stop();
  });
  past_.push_back({std::move(before), std::move(end)});
}

std::vector<std::shared_ptr<Server>> RenewableServer::All() const {
  const MutexLock lock(mu_);
  std::vector<std::shared_ptr<Server>> all;
  if (present_ != nullptr) all.push_back(present_);
  for (const Past& past : past_) all.push_back(past.server);
  return all;
}

ServerStats RenewableServer::stats() const {
  ServerStats sum;
  for (const std::shared_ptr<Server>& server : All()) Add(server->stats(), &sum);
  return sum;
}

bool RenewableServer::Drain(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  bool all = true;
  for (const std::shared_ptr<Server>& server : All()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    all = server->Drain(std::max(left, std::chrono::milliseconds(0))) && all;
  }
  return all;
}

void RenewableServer::Stop() {
  for (const std::shared_ptr<Server>& server : All()) server->Stop();
  std::vector<Past> past;
  {
    const MutexLock lock(mu_);
    past.swap(past_);
  }
  for (Past& one : past) one.end.join();
}

}  // namespace muster::http
