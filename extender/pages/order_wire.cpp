#include "extender/pages/order_wire.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "extender/wire/json_text.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using queues::QueueState;

constexpr size_t kMaxBody = size_t{64} << 10;
constexpr size_t kLongestName = 253;  // of objects
constexpr const char* kGroup = "muster.dev";
constexpr const char* kExpected =
    "expected /v1/gangs/NAMESPACE/NAME/priority or cancel, or /v1/queues/NAME/state or reclaim";

std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t slash = std::min(path.find('/'), path.size());
    parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(slash);
  }
  return parts;
}

// Reads the members of a body, each of which must be known.
class Body {
 public:
  explicit Body(const kube::JsonNode& root) : view_(root, "body", problems_) {}
  const kube::JsonView& view() const { return view_; }
  void Knows(const std::vector<std::string_view>& keys) {
    view_.Members([&](std::string_view key, const kube::JsonView& member) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) member.Problem("unknown field");
    });
  }
  const kube::JsonProblems& problems() const { return problems_; }

 private:
  kube::JsonProblems problems_;
  kube::JsonView view_;
};

QueueState ReadState(const kube::JsonView& state) {
  const std::string_view text = state.RequiredText();
  for (const QueueState known : {QueueState::kHold, QueueState::kDrain}) {
    if (text == ToString(known)) return known;
  }
  if (text != ToString(QueueState::kOpen)) state.Problem("expected open, hold or drain");
  return QueueState::kOpen;
}

// False: there is no such path.
bool ReadGangOrder(const std::vector<std::string>& parts, Body& body, OrderRequest* request) {
  const cluster::ObjectKey gang{parts[2], parts[3]};
  request->access = {gang.ns, "update", kGroup, "gangs", parts[4], gang.name};
  if (parts[4] == "cancel") {
    body.Knows({});
    request->order.what = engine::CancelPlan{gang};
    return true;
  }
  body.Knows({"priority"});
  engine::SetPriority order{gang, std::nullopt};
  const kube::JsonView priority = body.view().Get("priority");
  if (priority.present()) {
    order.priority =
        priority.Integer(0, std::numeric_limits<int32_t>::min(), engine::kMostOrderedPriority);
  }
  request->order.what = order;
  return parts[4] == "priority";
}

bool ReadQueueOrder(const std::vector<std::string>& parts, Body& body, OrderRequest* request) {
  request->access = {"", "update", kGroup, "queues", parts[3], parts[2]};
  if (parts[3] == "state") {
    body.Knows({"state"});
    request->order.what = engine::SetQueueState{parts[2], ReadState(body.view().Get("state"))};
    return true;
  }
  body.Knows({"gpus", "pauseSeconds", "dryRun"});
  engine::ReclaimGpus order{parts[2]};
  order.gpus = body.view().Get("gpus").Integer(0, 1, engine::kMostOrderedGpus);
  order.pause = cluster::Seconds(body.view()
                                     .Get("pauseSeconds")
                                     .Integer(engine::kReclaimPause.value() / 1000, 0,
                                              engine::kLongestReclaimPause.value() / 1000));
  request->dry_run = body.view().Get("dryRun").Flag(false);
  request->order.what = order;
  return parts[3] == "reclaim";
}

}  // namespace

Result<OrderRequest> ReadOrder(std::string_view path, std::string_view text) {
  const std::vector<std::string> parts = PartsOf(path);
  const bool gang = parts.size() == 5 && parts[1] == "gangs";
  const bool queue = parts.size() == 4 && parts[1] == "queues";
  if (!gang && !queue) return Error{Code::kNotFound, kExpected, ""};
  for (const std::string& part : parts) {
    if (part.empty() || part.size() > kLongestName) return Error{Code::kNotFound, kExpected, ""};
  }
  const Result<kube::Json> json = kube::Json::Parse(text.empty() ? "{}" : text, kMaxBody, "body");
  if (!json.ok()) return json.error();
  Body body(json->root());
  OrderRequest request{{"", engine::CancelPlan{}}, false, {}};
  const bool known =
      gang ? ReadGangOrder(parts, body, &request) : ReadQueueOrder(parts, body, &request);
  if (!known) return Error{Code::kNotFound, kExpected, ""};
  if (!body.problems().none()) return body.problems().first();
  return request;
}

std::string OrderJson(const OrderRequest& request, const engine::OrderEffect& effect) {
  JsonText json;
  json.BeginObject();
  json.Add("was", effect.was);
  json.Add("is", effect.is);
  json.Add("by", request.order.by);
  json.Add("dryRun", request.dry_run);
  json.BeginArray("evicted");
  for (const engine::OrderEffect::Evicted& one : effect.evicted) {
    json.BeginObject();
    json.Add("gang", one.gang.key.ToString());
    json.Add("queue", one.queue);
    json.Add("pods", one.pods);
    json.Add("whole", one.whole);
    json.AddMilli("gpus", one.gpu_milli);
    if (!one.despite.empty()) json.Add("despite", one.despite);
    json.EndObject();
  }
  json.EndArray();
  json.BeginArray("kept");
  for (const engine::OrderEffect::Kept& one : effect.kept) {
    json.BeginObject();
    json.Add("gang", one.gang.key.ToString());
    json.Add("why", one.why);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string Describe(const engine::Order& order) {
  struct Words {
    std::string operator()(const engine::SetPriority& one) const {
      return "gang " + one.gang.ToString() + ": priority " +
             (one.priority ? std::to_string(*one.priority) : "reset");
    }
    std::string operator()(const engine::SetQueueState& one) const {
      return "queue " + one.queue + ": " + ToString(one.state);
    }
    std::string operator()(const engine::ReclaimGpus& one) const {
      return "queue " + one.queue + ": reclaim " + std::to_string(one.gpus) + " GPUs";
    }
    std::string operator()(const engine::CancelPlan& one) const {
      return "gang " + one.gang.ToString() + ": cancel";
    }
  };
  return std::visit(Words{}, order.what);
}

}  // namespace muster::extender
