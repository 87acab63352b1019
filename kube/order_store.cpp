#include "kube/order_store.hpp"

#include <limits>
#include <utility>

#include "kube/json.hpp"
#include "kube/json_view.hpp"
#include "kube/json_writer.hpp"
#include "kube/refusal.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::ObjectKey;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using engine::StandingOrders;
using queues::QueueState;

namespace {

constexpr size_t kMaxBytes = size_t{2} << 20;
constexpr std::string_view kDataKey = "orders.json";

std::string PathOf(const ObjectKey& key, bool collection) {
  return "/api/v1/namespaces/" + key.ns + "/configmaps" + (collection ? "" : "/" + key.name);
}

std::optional<QueueState> StateOf(std::string_view text) {
  for (const QueueState state : {QueueState::kOpen, QueueState::kHold, QueueState::kDrain}) {
    if (text == ToString(state)) return state;
  }
  return std::nullopt;
}

void ReadQueue(std::string_view name, const JsonView& json, StandingOrders& orders) {
  engine::QueueOrder order;
  const JsonView state = json.Get("state");
  if (const auto known = StateOf(state.RequiredText())) {
    order.state = *known;
  } else {
    state.Problem("expected open, hold or drain");
  }
  order.by = json.Get("by").Text();
  const JsonView until = json.Get("pausedUntil");
  if (until.present()) {
    order.paused_until = cluster::Time(until.Integer(0, 0, std::numeric_limits<int64_t>::max()));
  }
  order.paused_by = json.Get("pausedBy").Text();
  orders.queues.emplace(name, std::move(order));
}

void ReadGang(std::string_view name, const JsonView& json, StandingOrders& orders) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return json.Problem("expected NAMESPACE/NAME as the key");
  using Limits = std::numeric_limits<int32_t>;
  engine::OrderedPriority order;
  order.uid = json.Get("uid").Text();
  order.priority =
      static_cast<int32_t>(json.Get("priority").Integer(0, Limits::min(), Limits::max()));
  order.by = json.Get("by").Text();
  orders.gangs.emplace(
      ObjectKey{std::string(name.substr(0, slash)), std::string(name.substr(slash + 1))},
      std::move(order));
}

Error WithoutRight(const ObjectKey& key, const Error& error) {
  return {Code::kForbidden,
          "Muster may not read and write ConfigMap " + key.ToString() +
              ", where it keeps the orders of operators: give its service account get, create and "
              "update (Role muster-orders of the manifests). " +
              error.message,
          ""};
}

}  // namespace

std::string EncodeOrders(const StandingOrders& orders) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("queues").BeginObject();
  for (const auto& [name, order] : orders.queues) {
    json.TextKey(name).BeginObject().Key("state").Text(ToString(order.state));
    if (!order.by.empty()) json.Key("by").Text(order.by);
    if (order.paused_until) {
      json.Key("pausedUntil").Integer(order.paused_until->milliseconds());
      json.Key("pausedBy").Text(order.paused_by);
    }
    json.EndObject();
  }
  json.EndObject().Key("gangs").BeginObject();
  for (const auto& [key, order] : orders.gangs) {
    json.TextKey(key.ToString()).BeginObject().Key("uid").Text(order.uid);
    json.Key("priority").Integer(order.priority).Key("by").Text(order.by).EndObject();
  }
  json.EndObject().EndObject();
  return text;
}

Result<StandingOrders> DecodeOrders(std::string_view text) {
  const Result<Json> json = Json::Parse(text, kMaxBytes, kDataKey);
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView object(json->root(), kDataKey, problems);
  StandingOrders orders;
  const JsonView queues = object.Get("queues");
  queues.Members([&](std::string_view name, const JsonView& one) { ReadQueue(name, one, orders); });
  const JsonView gangs = object.Get("gangs");
  gangs.Members([&](std::string_view name, const JsonView& one) { ReadGang(name, one, orders); });
  if (!problems.none()) return problems.first();
  return orders;
}

Result<StandingOrders> OrderStore::Read() {
  known_ = false;
  ApiRequest request;
  request.path = PathOf(key_, false);
  const Result<ApiReply> reply = ports_.api.Call(request);
  if (!reply.ok()) return reply.error();
  if (reply->status == 404) {
    known_ = true;
    version_.clear();
    return StandingOrders{};
  }
  if (!reply->ok()) {
    const Error error = ErrorOf(*reply);
    return error.code == Code::kForbidden ? WithoutRight(key_, error) : error;
  }
  const std::string place = "ConfigMap " + key_.ToString();
  const Result<Json> json = Json::Parse(reply->body, kMaxBytes, place);
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView object(json->root(), place, problems);
  const JsonView metadata = object.Get("metadata");
  const std::string version(metadata.Get("resourceVersion").RequiredText());
  const JsonView data = object.Get("data");
  const std::string text(data.Get(kDataKey).Text());
  if (!problems.none()) return problems.first();
  Result<StandingOrders> orders = text.empty() ? StandingOrders{} : DecodeOrders(text);
  if (!orders.ok()) return orders.error().At(place);
  known_ = true;
  version_ = version;
  return orders;
}

ApiRequest OrderStore::WriteOf(const StandingOrders& orders) const {
  ApiRequest request;
  request.method = version_.empty() ? Method::kPost : Method::kPut;
  request.path = PathOf(key_, version_.empty());
  request.permit = ports_.may_write;
  JsonWriter json(request.body);
  json.BeginObject().Key("apiVersion").Text("v1").Key("kind").Text("ConfigMap");
  json.Key("metadata").BeginObject().Key("name").Text(key_.name).Key("namespace").Text(key_.ns);
  if (!version_.empty()) json.Key("resourceVersion").Text(version_);
  json.Key("labels").BeginObject().TextKey("app.kubernetes.io/name").Text("muster").EndObject();
  json.EndObject().Key("data").BeginObject();
  json.TextKey(kDataKey).Text(EncodeOrders(orders)).EndObject().EndObject();
  return request;
}

Status OrderStore::Write(const StandingOrders& orders) {
  if (!known_) {
    if (const Result<StandingOrders> read = Read(); !read.ok()) return read.error();
  }
  for (int tries = 0; tries < 2; ++tries) {
    const Result<ApiReply> reply = ports_.api.Call(WriteOf(orders));
    if (!reply.ok()) {
      known_ = false;  // it may have been written
      return reply.error();
    }
    if (reply->ok()) {
      const Result<Json> json = Json::Parse(reply->body, kMaxBytes, "ConfigMap");
      JsonProblems problems;
      if (json.ok()) {
        const JsonView object(json->root(), "ConfigMap", problems);
        const JsonView metadata = object.Get("metadata");
        version_ = metadata.Get("resourceVersion").Text();
      }
      known_ = json.ok() && !version_.empty();
      return Ok{};
    }
    const Error error = ErrorOf(*reply);
    if (error.code == Code::kForbidden) return WithoutRight(key_, error);
    // Somebody changed or deleted it by hand: what this process knows is what holds.
    const bool again = error.code == Code::kConflict || error.code == Code::kNotFound;
    if (!again || !Read().ok()) return error;
  }
  return Error{Code::kConflict,
               "somebody else changes ConfigMap " + key_.ToString() + " too, try again", ""};
}

}  // namespace muster::kube
