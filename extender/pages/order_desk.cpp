#include "extender/pages/order_desk.hpp"

#include <vector>

#include "extender/pages/api.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;
using cluster::Status;
using engine::OrderEffect;

void OrderDesk::Mount(http::Server& server) {
  for (const char* path : {"/v1/gangs/*", "/v1/queues/*"}) {
    server.HandleInTurn("POST", path,
                        [this](const http::Request& request) { return Answer(request); });
  }
}

void OrderDesk::Stop() {
  const MutexLock lock(mu_);
  stopped_ = true;
}

http::Response OrderDesk::Answer(const http::Request& sent) {
  if (Status json = SaysJson(sent); !json.ok()) return FailedAnswer(json.error());
  Result<OrderRequest> read = ReadOrder(sent.path, sent.body);
  if (!read.ok()) return FailedAnswer(read.error());
  OrderRequest request = *std::move(read);
  const Caller caller = CallerOf(sent);
  Result<std::string> by = ports_.access.Authorise(caller, request.access);
  request.order.by = by.ok() ? *by : caller.peer;
  const Result<OrderEffect> effect = by.ok() ? Serve(request) : by.error();
  const std::string what = Describe(request.order);
  const bool counts = !request.dry_run;
  if (counts) ports_.ordered(request.order, effect.ok());
  if (!effect.ok()) {
    ports_.log.Info(
        "order refused",
        {{"order", what}, {"by", request.order.by}, {"error", effect.error().ToString()}});
    return FailedAnswer(effect.error());
  }
  if (counts) {
    std::vector<LogField> fields = {
        {"order", what}, {"by", request.order.by}, {"was", effect->was}, {"is", effect->is}};
    for (const OrderEffect::Evicted& gone : effect->evicted)
      fields.push_back({"evicts", gone.gang.key.ToString()});
    ports_.log.Info("order", fields);
  }
  http::Response response;
  response.body = OrderJson(request, *effect);
  return response;
}

Result<OrderEffect> OrderDesk::Serve(const OrderRequest& request) {
  const MutexLock lock(mu_);
  if (stopped_) return Error{Code::kUnavailable, "muster is shutting down", ""};
  if (const std::string closed = ports_.closed(); !closed.empty())
    return Error{Code::kUnavailable, closed, ""};
  const engine::Order& order = request.order;
  Result<OrderEffect> effect = ports_.scheduler.Consider(order, ports_.now());
  if (!effect.ok() || request.dry_run) return effect;
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
