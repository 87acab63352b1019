#include "http/server/renewable_server.hpp"

#include <algorithm>

namespace muster::http {

using cluster::MutexLock;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

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
  ForgetEndedLocked();
  std::shared_ptr<Server> before = std::exchange(present_, std::move(next.server));
  before->HandOver(next.same == SameAddress::kYes);
  auto ended = std::make_shared<std::atomic<bool>>(false);
  std::thread end([before, ended, grace] {
    before->WaitUntilQuiet(grace);
    before->Drain(std::chrono::milliseconds(0));
    before->Stop();
    ended->store(true);
  });
  past_.push_back({std::move(before), std::move(ended), std::move(end)});
}

void RenewableServer::ForgetEndedLocked() {
  for (auto past = past_.begin(); past != past_.end();) {
    if (!past->ended->load()) {
      ++past;
      continue;
    }
    past->end.join();
    forgotten_ += past->server->stats();
    past = past_.erase(past);
  }
}

std::vector<std::shared_ptr<Server>> RenewableServer::All() const {
  const MutexLock lock(mu_);
  std::vector<std::shared_ptr<Server>> all;
  if (present_ != nullptr) all.push_back(present_);
  for (const Past& past : past_) all.push_back(past.server);
  return all;
}

ServerStats RenewableServer::stats() const {
  const MutexLock lock(mu_);
  ServerStats sum = forgotten_;
  if (present_ != nullptr) sum += present_->stats();
  for (const Past& past : past_) sum += past.server->stats();
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
