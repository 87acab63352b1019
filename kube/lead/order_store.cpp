#include "kube/lead/order_store.hpp"

#include <limits>
#include <utility>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::ObjectKey;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using engine::StandingOrders;
using queues::QueueState;

namespace {

constexpr size_t kMaxOrderBytes = size_t{2} << 20;
constexpr std::string_view kDataKey = "orders.json";

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
  order.owner = json.Get("owner").Text();
  orders.gangs.emplace(
      ObjectKey{std::string(name.substr(0, slash)), std::string(name.substr(slash + 1))},
      std::move(order));
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
    json.Key("priority").Integer(order.priority).Key("by").Text(order.by);
    if (!order.owner.empty()) json.Key("owner").Text(order.owner);
    json.EndObject();
  }
  json.EndObject().EndObject();
  return text;
}

Result<StandingOrders> DecodeOrders(std::string_view text) {
  const Result<Json> json = Json::Parse(text, kMaxOrderBytes, kDataKey);
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

OrderStore::OrderStore(const Ports& ports, const ObjectKey& config_map)
    : text_({.api = ports.api,
             .may_write = ports.may_write,
             .check = [](std::string_view text) -> Status {
               const Result<StandingOrders> orders = DecodeOrders(text);
               if (!orders.ok()) return orders.error();
               return Ok{};
             }},
            {.object = config_map,
             .key = std::string(kDataKey),
             .what = "the orders of operators",
             .role = "muster-orders"}) {}

Result<StandingOrders> OrderStore::Read() {
  const Result<std::string> text = text_.Read();
  if (!text.ok()) return text.error();
  return text->empty() ? StandingOrders{} : DecodeOrders(*text);
}

Status OrderStore::Write(const StandingOrders& orders) { return text_.Write(EncodeOrders(orders)); }

}  // namespace muster::kube
