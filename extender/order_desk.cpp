#include "extender/order_desk.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "extender/api.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;
using cluster::Status;
using engine::OrderEffect;

namespace {

constexpr size_t kMostWaiting = 64;
constexpr int64_t kMostOfPeer = 16;  // of these, from one address

}  // namespace

OrderDesk::OrderDesk(Ports ports)
    : ports_(std::move(ports)),
      thread_(std::make_unique<kube::StepThread>([this](const kube::Clocks&) { return Work(); })) {}

void OrderDesk::Mount(http::Server& server) {
  for (const char* path : {"/v1/gangs/*", "/v1/queues/*"}) {
    server.HandleLater("POST", path, [this](const http::Request& request, const http::Done& done) {
      Take(request, done);
    });
  }
}

void OrderDesk::Stop() {
  std::deque<Waiting> left;
  {
    const MutexLock lock(mu_);
    stopped_ = true;
    left.swap(waiting_);
  }
  for (const Waiting& one : left)
    one.done(FailedAnswer({Code::kUnavailable, "muster is shutting down", ""}));
  if (thread_) thread_->Stop();
}

void OrderDesk::Take(const http::Request& request, const http::Done& done) {
  if (Status json = SaysJson(request); !json.ok()) return done(FailedAnswer(json.error()));
  Result<OrderRequest> order = ReadOrder(request.path, request.body);
  if (!order.ok()) return done(FailedAnswer(order.error()));
  Waiting waiting{*std::move(order), CallerOf(request), done};
  {
    const MutexLock lock(mu_);
    const auto same = std::count_if(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
      return one.caller.peer == waiting.caller.peer;
    });
    if (!stopped_ && waiting_.size() < kMostWaiting && same < kMostOfPeer) {
      waiting_.push_back(std::move(waiting));
      thread_->Poke();
      return;
    }
  }
  done(FailedAnswer({Code::kUnavailable, "too many orders at once, try again", ""}));
}

OrderDesk::Waiting OrderDesk::NextLocked() {
  auto next = waiting_.begin();
  while (next != waiting_.end() && next->caller.peer == last_peer_) ++next;
  if (next == waiting_.end()) next = waiting_.begin();
  Waiting one = std::move(*next);
  waiting_.erase(next);
  last_peer_ = one.caller.peer;
  return one;
}

cluster::Time OrderDesk::Work() {
  while (true) {
    std::optional<Waiting> one;
    {
      const MutexLock lock(mu_);
      if (waiting_.empty()) return cluster::Time::Never();
      one = NextLocked();
    }
    Waiting& waiting = *one;
    const Result<OrderEffect> effect = Serve(waiting);
    const std::string& by = waiting.request.order.by;
    const std::string who = by.empty() ? waiting.caller.peer : by;
    const std::string what = Describe(waiting.request.order);
    if (!waiting.request.dry_run) ports_.ordered(waiting.request.order, effect.ok());
    if (!effect.ok()) {
      ports_.log.Info("order refused",
                      {{"order", what}, {"by", who}, {"error", effect.error().ToString()}});
      waiting.done(FailedAnswer(effect.error()));
      continue;
    }
    if (!waiting.request.dry_run) {
      std::vector<LogField> fields = {
          {"order", what}, {"by", who}, {"was", effect->was}, {"is", effect->is}};
      for (const OrderEffect::Evicted& gone : effect->evicted)
        fields.push_back({"evicts", gone.gang.key.ToString()});
      ports_.log.Info("order", fields);
    }
    http::Response response;
    response.body = OrderJson(waiting.request, *effect);
    waiting.done(std::move(response));
  }
}

Result<OrderEffect> OrderDesk::Serve(Waiting& waiting) {
  if (const std::string closed = ports_.closed(); !closed.empty())
    return Error{Code::kUnavailable, closed, ""};
  Result<std::string> by = ports_.access.Authorise(waiting.caller, waiting.request.access,
                                                   CallerAccess::Waits::kOwnThread);
  if (!by.ok()) return by.error();
  engine::Order& order = waiting.request.order;
  order.by = *std::move(by);
  Result<OrderEffect> effect = ports_.scheduler.Consider(order, ports_.now());
  if (!effect.ok() || waiting.request.dry_run) return effect;
  // What stands is kept before it counts: a restart in between carries it out, too.
  const engine::StandingOrders before = ports_.scheduler.Orders();
  const bool stands = !(effect->standing == before);
  if (stands) {
    if (Status kept = ports_.keep(effect->standing); !kept.ok()) return kept.error();
  }
  effect = ports_.scheduler.Carry(order, ports_.now());
  ports_.told();
  // Things changed meanwhile. Should this fail, the next order writes what stands.
  if (!effect.ok() && stands) static_cast<void>(ports_.keep(before));
  return effect;
}

}  // namespace muster::extender
