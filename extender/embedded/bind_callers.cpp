#include "extender/embedded/bind_callers.hpp"

#include <system_error>
#include <utility>

#include "extender/embedded/caller_wire.hpp"
#include "extender/verbs/http_verbs.hpp"

namespace muster::extender {

using cluster::MutexLock;

BindCallers::~BindCallers() {
  {
    const MutexLock lock(mu_);
    while (!running_.empty()) idle_.Wait(mu_);
  }
  for (std::thread& thread : TakeFinished()) thread.join();
}

void BindCallers::Start(std::string body, const Done& done) {
  for (std::thread& thread : TakeFinished()) thread.join();
  bool started = true;
  {
    // Held while the thread is made, so that it finds itself in running_ when it ends.
    const MutexLock lock(mu_);
    const uint64_t id = next_id_++;
    try {
      running_.emplace(
          id, std::thread([this, id, body = std::move(body), done] { Call(id, body, done); }));
    } catch (const std::system_error&) {
      started = false;
    }
  }
  if (!started) done("the system gives no more threads");
}

void BindCallers::Call(uint64_t id, const std::string& body, const Done& done) {
  const cluster::Result<http::Reply> reply = clients_.Post(kBindPath, body);
  if (!reply.ok()) {
    done(reply.error().ToString());
  } else if (reply->status != 200) {
    done("code " + std::to_string(reply->status));
  } else {
    done(BindErrorIn(reply->body));
  }
  const MutexLock lock(mu_);
  const auto self = running_.find(id);
  finished_.push_back(std::move(self->second));
  running_.erase(self);
  idle_.NotifyAll();
}

std::vector<std::thread> BindCallers::TakeFinished() {
  std::vector<std::thread> finished;
  const MutexLock lock(mu_);
  finished.swap(finished_);
  return finished;
}

}  // namespace muster::extender
