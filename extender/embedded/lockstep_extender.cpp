#include "extender/embedded/lockstep_extender.hpp"

#include <chrono>
#include <utility>

#include "extender/embedded/caller_wire.hpp"
#include "extender/embedded/http_extender.hpp"
#include "extender/verbs/http_verbs.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;
using cluster::Status;

namespace {

// Held calls wait in virtual time, which may be hours; in real time nothing takes that long.
constexpr std::chrono::milliseconds kPatience{3'600'000};

}  // namespace

LockstepExtender::LockstepExtender(sim::EventLoop& loop, sim::MusterLink& link)
    : loop_(loop),
      link_(link),
      handlers_({.scheduler = [&link]() -> engine::Scheduler& { return link.scheduler(); },
                 .now = [&loop] { return loop.now(); },
                 .told = [this] { Told(); }},
                {}),
      server_(http::ServerOptions{}) {
  MountExtenderVerbs(server_, handlers_);
  handlers_.SetAvailability(Availability::kReady);
  if (const Status started = server_.Start(); !started.ok()) broken_ = started.error().ToString();
  http::ClientOptions options;
  options.port = server_.port();
  options.timeout = kPatience;
  client_ = std::make_unique<http::Client>(options);
  bind_clients_ = std::make_unique<http::ClientPool>(options);
  callers_ = std::make_unique<BindCallers>(*bind_clients_);
  link.OnAnswerBind([this](const engine::AnswerBind& answer) {
    handlers_.Deliver(answer);
    FinishHeld(answer.ticket);
  });
  link.OnRestart([this] {
    handlers_.RefuseOpenBinds("connection reset by peer");
    while (!held_.empty()) {
      const std::shared_ptr<Call> call = held_.begin()->second;
      held_.erase(held_.begin());
      loop_.Post([call, error = Await(*call)] { call->done(error); });
    }
  });
}

LockstepExtender::~LockstepExtender() {
  handlers_.RefuseOpenBinds("the simulation has ended");
  callers_.reset();
}

Result<std::string> LockstepExtender::Exchange(ExtenderVerb verb, const std::string& body) {
  if (!broken_.empty()) return Error{Code::kUnavailable, broken_, ""};
  Result<std::string> reply = CallExtender(*client_, verb, body);
  if (verb == ExtenderVerb::kFilter) link_.Kick();
  return reply;
}

void LockstepExtender::Bind(const engine::BindCall& call, BindDone done) {
  const auto open = std::make_shared<Call>();
  open->done = std::move(done);
  if (!broken_.empty()) {
    loop_.Post([open, error = broken_] { open->done(error); });
    return;
  }
  uint64_t told_before = 0;
  {
    const MutexLock lock(mu_);
    told_before = told_;
  }
  callers_->Start(EncodeBindRequest(call), [this, open](const std::string& error) {
    const MutexLock lock(mu_);
    open->error = error;
    changed_.NotifyAll();
  });
  {
    const MutexLock lock(mu_);
    while (told_ == told_before && !open->error) changed_.Wait(mu_);
  }
  link_.Kick();
  // Calls come one at a time, so the last ticket is this call's.
  const uint64_t ticket = handlers_.tickets().last();
  if (handlers_.tickets().IsOpen(ticket)) {
    held_.emplace(ticket, open);
  } else {
    loop_.Post([open, error = Await(*open)] { open->done(error); });
  }
}

void LockstepExtender::Told() {
  const MutexLock lock(mu_);
  ++told_;
  changed_.NotifyAll();
}

void LockstepExtender::FinishHeld(uint64_t ticket) {
  const auto found = held_.find(ticket);
  if (found == held_.end()) return;
  const std::shared_ptr<Call> call = std::move(found->second);
  held_.erase(found);
  call->done(Await(*call));
}

std::string LockstepExtender::Await(const Call& call) {
  const MutexLock lock(mu_);
  while (!call.error) changed_.Wait(mu_);
  return *call.error;
}

}  // namespace muster::extender
