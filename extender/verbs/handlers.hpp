// ExtenderHandlers: kube-scheduler's four verbs, bytes in, bytes out. Decode, ask the engine,
// encode; nothing is decided here, and nothing is known of HTTP.
//
//   body ──wire──▶ question ──▶ engine::Scheduler ──▶ answer ──wire──▶ body
//
// Contract:
//   1. Filter and Prioritize read the plan: asked again they answer the same. What Filter remembers
//      is described in engine/scheduler.hpp.
//   2. Bind answers through `done`, exactly once, from any thread and possibly before it returns:
//      at once, or when the engine's AnswerBind for its ticket is delivered. Idempotent by UID.
//   3. Every error of Filter and Bind is a reply with Error set: kube-scheduler throws the body of
//      any other status away. Prioritize has no place for an error, an empty list says the same;
//      Preempt has none either, so its errors are replies of another `kind`.
//   4. Preempt answers "no candidates": Muster evicts whole gangs by itself, and kube-scheduler's
//      preemption of single pods would only break them.
//   5. Before kReady and after kDraining every reply is an error that says so; then, and while
//      draining, replies ask for the connection to be closed: the next call may reach another
//      replica.
//   6. At most Options::most_open_binds calls are held; one more is refused at once.
//
// Owned by serve or by a simulation; any thread. The Scheduler behind it may be replaced between
// calls (see Ports).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/base/units.hpp"
#include "engine/scheduler.hpp"
#include "extender/telemetry/metrics.hpp"
#include "extender/verbs/bind_tickets.hpp"

namespace muster::extender {

// Anything but kProtocol: the body is an error text.
enum class ReplyKind {
  kProtocol,     // what kube-scheduler decodes
  kMalformed,    // the call cannot be read; asked again it will not be either
  kUnavailable,  // not now; another replica may answer, or this one later
};

struct HandlerReply {
  std::string body;
  bool close = false;  // the caller should find another connection
  ReplyKind kind = ReplyKind::kProtocol;
};

enum class Availability {
  kNotSynced,  // the cluster is not known yet
  kNotLeader,  // another replica answers
  kReady,
  kDraining,  // calls are still answered, so that gangs at the barrier become complete
  kStopped,
};

class ExtenderHandlers {
 public:
  struct Ports {
    std::function<engine::Scheduler&()> scheduler;
    std::function<cluster::Time()> now;
    // The engine was told something that may call for an Advance; empty: the caller knows.
    std::function<void()> told;
    // Brings the pod of a Filter call to what is known of its gang. Not empty: why nothing can be
    // said of it yet. Empty function: everything is known of it.
    std::function<std::string(cluster::Pod&)> group = {};
    Metrics* metrics = nullptr;  // may be null
  };
  struct Options {
    std::size_t most_open_binds = 8192;
  };
  using BindDone = std::function<void(HandlerReply)>;

  ExtenderHandlers(Ports ports, Options options)
      : ports_(std::move(ports)), tickets_(options.most_open_binds) {}
  ~ExtenderHandlers() = default;
  ExtenderHandlers(const ExtenderHandlers&) = delete;
  ExtenderHandlers& operator=(const ExtenderHandlers&) = delete;

  HandlerReply Filter(std::string_view body);
  HandlerReply Prioritize(std::string_view body);
  HandlerReply Preempt(std::string_view body);
  void Bind(std::string_view body, BindDone done);

  // The engine's answer to a held call; one that is not open (any more) is ignored.
  void Deliver(const engine::AnswerBind& answer);
  // Answers every open call with this error: the engine is gone, or the process is about to be.
  void RefuseOpenBinds(const std::string& error);

  void SetAvailability(Availability availability) { availability_ = availability; }
  Availability availability() const { return availability_; }
  const BindTickets& tickets() const { return tickets_; }

 private:
  using Clock = std::chrono::steady_clock;
  HandlerReply Reply(std::string body) const;
  void Count(ExtenderVerb verb, VerbResult result, Clock::time_point begin);
  void Told() const;
  // As soon as it exists, not only when kube-scheduler asks about it.
  bool PlansFor(const cluster::Pod& pod) const;

  const Ports ports_;
  BindTickets tickets_;
  std::atomic<Availability> availability_ = Availability::kNotSynced;
};

}  // namespace muster::extender
