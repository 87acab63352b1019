#include "extender/embedded/wire_extender.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "extender/embedded/caller_wire.hpp"

namespace muster::extender {

using cluster::Result;

WireExtender::WireExtender(sim::EventLoop& loop, sim::MusterLink& link)
    : loop_(loop),
      link_(link),
      handlers_({.scheduler = [&link]() -> engine::Scheduler& { return link.scheduler(); },
                 .now = [&loop] { return loop.now(); },
                 .told = nullptr},
                {}) {
  handlers_.SetAvailability(Availability::kReady);
  link.OnAnswerBind([this](const engine::AnswerBind& answer) { handlers_.Deliver(answer); });
  link.OnRestart([this] {
    restarting_ = true;
    handlers_.RefuseOpenBinds("connection reset by peer");
    restarting_ = false;
  });
}

Result<std::string> WireExtender::Exchange(ExtenderVerb verb, const std::string& body) {
  if (verb == ExtenderVerb::kPrioritize) return handlers_.Prioritize(body).body;
  HandlerReply reply = handlers_.Filter(body);
  link_.Kick();
  return std::move(reply.body);
}

void WireExtender::Bind(const engine::BindCall& call, BindDone done) {
  // What is answered at once is still heard of only after Bind has returned.
  struct Call {
    BindDone done;
    bool returned = false;
    std::optional<std::string> early;
  };
  const auto open = std::make_shared<Call>();
  open->done = std::move(done);
  handlers_.Bind(EncodeBindRequest(call), [this, open](const HandlerReply& reply) {
    const std::string error = BindErrorIn(reply.body);
    if (!open->returned) {
      open->early = error;
    } else if (restarting_) {
      loop_.Post([open, error] { open->done(error); });
    } else {
      open->done(error);
    }
  });
  open->returned = true;
  link_.Kick();
  if (open->early) loop_.Post([open] { open->done(*open->early); });
}

}  // namespace muster::extender
