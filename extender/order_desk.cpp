#include "extender/order_desk.hpp"

#include <algorithm>
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
constexpr std::string_view kBearer = "bearer ";

bool IsLoopback(const std::string& peer) {
  return peer == "::1" || peer.starts_with("127.") || peer.starts_with("::ffff:127.");
}

// Empty: none was sent.
std::string TokenOf(const http::Request& request) {
  const std::string_view header = request.Header("authorization");
  if (http::LowerCase(header.substr(0, kBearer.size())) != kBearer) return {};
  std::string_view token = header.substr(kBearer.size());
  token.remove_prefix(std::min(token.find_first_not_of(' '), token.size()));
  return std::string(token);
}

bool Names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

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
  // A page in a browser cannot send this type to another site without being asked first.
  if (!request.content_type.starts_with("application/json")) {
    return done(FailedAnswer(
        {Code::kInvalidArgument,
         "expected Content-Type: application/json, found \"" + request.content_type + "\"", ""}));
  }
  Result<OrderRequest> order = ReadOrder(request.path, request.body);
  if (!order.ok()) return done(FailedAnswer(order.error()));
  Waiting waiting{*std::move(order), TokenOf(request), request, done};
  waiting.caller.body.clear();
  waiting.caller.headers.clear();
  {
    const MutexLock lock(mu_);
    if (!stopped_ && waiting_.size() < kMostWaiting) {
      waiting_.push_back(std::move(waiting));
      thread_->Poke();
      return;
    }
  }
  done(FailedAnswer({Code::kUnavailable, "too many orders at once, try again", ""}));
}

cluster::Time OrderDesk::Work() {
  while (true) {
    std::deque<Waiting> one;
    {
      const MutexLock lock(mu_);
      if (waiting_.empty()) return cluster::Time::Never();
      one.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    Waiting& waiting = one.front();
    const Result<OrderEffect> effect = Serve(waiting);
    const std::string& by = waiting.request.order.by;
    const std::string who = by.empty() ? waiting.caller.peer : by;
    const std::string what = Describe(waiting.request.order);
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
  Result<std::string> by = Authorise(waiting);
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

Result<std::string> OrderDesk::Authorise(const Waiting& waiting) {
  const http::Request& caller = waiting.caller;
  const bool local = IsLoopback(caller.peer);
  if (!waiting.token.empty() && ports_.reviewer != nullptr) {
    if (!caller.tls && !local) {
      return Error{Code::kForbidden,
                   "a bearer token came over plain HTTP from another machine, which shows it to "
                   "others: set metrics.tls in the policy and use https, or kubectl port-forward",
                   ""};
    }
    const Result<kube::TokenUser> user = ports_.reviewer->WhoHas(waiting.token);
    if (!user.ok()) return user.error();
    if (Status may = ports_.reviewer->May(*user, waiting.request.access); !may.ok())
      return may.error();
    return user->name;
  }
  if (!caller.client_name.empty()) {
    const config::OperatorSettings settings = ports_.settings();
    const bool listed = Names(settings.client_names, caller.client_name) ||
                        std::any_of(caller.client_organisations.begin(),
                                    caller.client_organisations.end(), [&](const std::string& one) {
                                      return Names(settings.client_organisations, one);
                                    });
    if (listed) return caller.client_name;
    return Error{Code::kForbidden,
                 "\"" + caller.client_name +
                     "\" may not give orders: add the certificate's name to operators.clientNames "
                     "of the policy, or its O to operators.clientOrganisations",
                 ""};
  }
  if (ports_.reviewer == nullptr && local) return std::string("local");
  return Error{Code::kForbidden,
               ports_.reviewer == nullptr
                   ? "orders of an embedded cluster are taken from this machine only"
                   : "nobody says who gives the order: send a bearer token (--token-file), or a "
                     "client certificate that the policy names (--cert and --key; "
                     "operators.clientNames)",
               ""};
}

}  // namespace muster::extender
