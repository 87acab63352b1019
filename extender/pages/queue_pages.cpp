#include "extender/pages/queue_pages.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <string_view>

#include "extender/wire/json_text.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::extender {

using engine::QueueAmounts;
using engine::QueueView;
using queues::Resource;

namespace {

bool IsMemory(const Resource& resource) {
  return resource.kind == Resource::Kind::kMemory || resource.kind == Resource::Kind::kGpuMemory;
}

// What its amounts are counted in.
const char* UnitOf(const Resource& resource) {
  if (IsMemory(resource)) return "MiB";
  return resource.kind == Resource::Kind::kCpu ? "cores" : "GPUs";
}

const char* ToString(queues::Order order) {
  switch (order) {
    case queues::Order::kFair:
      return "fair";
    case queues::Order::kFifo:
      return "fifo";
    case queues::Order::kStrictFifo:
      break;
  }
  return "strict-fifo";
}

void AddAmount(JsonText& json, const QueueAmounts& amounts) {
  const auto add = [&](std::string_view name, int64_t amount) {
    if (IsMemory(amounts.resource)) {
      json.Add(name, amount);
    } else {
      json.AddMilli(name, amount);
    }
  };
  json.BeginObject();
  json.Add("resource", ToString(amounts.resource));
  json.Add("unit", UnitOf(amounts.resource));
  add("guarantee", amounts.guarantee);
  if (amounts.limit != INT64_MAX) add("limit", amounts.limit);
  add("used", amounts.used);
  if (amounts.average) add("averageUsed", *amounts.average);
  add("pending", amounts.pending);
  add("share", amounts.share);
  if (amounts.scaled) json.Add("scaled", true);
  add("borrowed", amounts.borrowed());
  add("idle", amounts.idle());
  add("kept", amounts.kept);
  const auto add_all = [&](std::string_view name, const std::map<std::string, int64_t>& loans) {
    if (loans.empty()) return;
    json.BeginArray(name);
    for (const auto& [queue, amount] : loans) {
      json.BeginObject();
      json.Add("queue", queue);
      add("amount", amount);
      json.EndObject();
    }
    json.EndArray();
  };
  add_all("borrowedFrom", amounts.borrowed_from);
  add_all("lentTo", amounts.lent_to);
  json.EndObject();
}

void AddShape(JsonText& json, const engine::ShapeView& shape) {
  json.BeginObject();
  json.Add("wholeNodes", shape.shape.whole_nodes);
  if (!shape.shape.model.empty()) json.Add("model", shape.shape.model);
  json.AddNames("nodes", shape.nodes);
  json.AddMilli("gpus", shape.gpu_milli);
  json.Add("whole", shape.whole);
  json.Add("lent", shape.lent);
  json.Add("missing", shape.missing());
  json.EndObject();
}

// GPUs, cores or bytes.
double Unit(const Resource& resource, int64_t amount) {
  const auto value = static_cast<double>(amount);
  return IsMemory(resource) ? value * 1024 * 1024 : value / 1000;
}

double GpuHours(int64_t milliseconds) { return static_cast<double>(milliseconds) / 3'600'000; }

}  // namespace

void AddQueue(JsonText& json, const QueueView& queue) {
  json.Add("name", queue.name);
  if (!queue.parent.empty()) json.Add("parent", queue.parent);
  json.Add("leaf", queue.leaf);
  if (queue.by_namespace) json.Add("fairBy", "namespace");
  if (!queue.of_namespace.empty()) json.Add("namespace", queue.of_namespace);
  json.Add("weight", queue.weight);
  json.Add("order", ToString(queue.order));
  json.Add("state", ToString(queue.state));
  if (!queue.held_by.empty()) json.Add("heldBy", queue.held_by);
  if (queue.paused_until) json.Add("pausedUntil", kube::FormatTimestamp(*queue.paused_until));
  if (queue.priority_cap) json.Add("priorityCap", *queue.priority_cap);
  json.Add("pending", queue.pending);
  if (!queue.next.empty()) json.Add("next", queue.next);
  if (queue.booked_idle > 0) json.AddDecimal("bookedIdleGpuHours", GpuHours(queue.booked_idle));
  if (!queue.b.empty()) {
    json.Add("within", queue.within);
    json.Add("b", queue.b);
  }
  json.BeginArray("amounts");
  for (const QueueAmounts& amounts : queue.amounts) AddAmount(json, amounts);
  json.EndArray();
  if (!queue.shapes.empty()) {
    json.BeginArray("shapes");
    for (const engine::ShapeView& shape : queue.shapes) AddShape(json, shape);
    json.EndArray();
  }
}

std::string QueuesJson(const std::vector<QueueView>& queues) {
  JsonText json;
  json.BeginObject();
  json.BeginArray("queues");
  for (const QueueView& queue : queues) {
    json.BeginObject();
    AddQueue(json, queue);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string QueueMetrics(const std::vector<QueueView>& queues) {
  if (queues.empty()) return {};
  // A registry for each page: a queue that is gone leaves no series behind.
  prometheus::Registry registry;
  const auto family = [&](const char* name, const char* help) -> auto& {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  };
  auto& guarantee = family("muster_queue_guarantee", "What the queue has whenever it wants it");
  auto& limit = family("muster_queue_limit", "What the queue may use at most");
  auto& used = family("muster_queue_used", "What pods of the queue hold, or have earmarked");
  auto& average = family("muster_queue_average_used",
                         "What the queue used, the past counting less (usageHalfLife)");
  auto& asked = family("muster_queue_asked", "What gangs that wait in the queue ask for");
  auto& lent = family("muster_queue_lent", "What other queues have of the queue's guarantee");
  auto& share = family("muster_queue_share", "What the queue is entitled to now");
  auto& pending = family("muster_queue_pending_gangs", "Gangs that wait in the queue");
  auto& whole = family("muster_queue_whole_nodes", "Whole nodes that the queue is guaranteed");
  auto& missing =
      family("muster_queue_shape_missing",
             "Of the whole nodes that the queue is guaranteed those that it cannot have");
  auto& idle = prometheus::BuildCounter()
                   .Name("muster_queue_booked_idle_gpu_hours_total")
                   .Help("GPU-hours kept free for gangs of the queue that have booked them")
                   .Register(registry);
  std::size_t labels_used = 0;
  for (const QueueView& queue : queues) {
    if (!queue.of_namespace.empty()) continue;  // as many as namespaces; the queue above has it all
    const std::string name = labels_used++ < kMostQueueLabels ? queue.name : "other";
    pending.Add({{"queue", name}}).Increment(static_cast<double>(queue.pending));
    idle.Add({{"queue", name}}).Increment(GpuHours(queue.booked_idle));
    for (const engine::ShapeView& shape : queue.shapes) {
      const prometheus::Labels labels = {{"queue", name}, {"model", shape.shape.model}};
      whole.Add(labels).Increment(static_cast<double>(shape.shape.whole_nodes));
      missing.Add(labels).Increment(static_cast<double>(shape.missing()));
    }
    for (const QueueAmounts& amounts : queue.amounts) {
      const prometheus::Labels labels = {{"queue", name}, {"resource", ToString(amounts.resource)}};
      const auto add = [&](auto& of, int64_t amount) {
        of.Add(labels).Increment(Unit(amounts.resource, amount));
      };
      add(guarantee, amounts.guarantee);
      if (amounts.limit != INT64_MAX) add(limit, amounts.limit);
      add(used, amounts.used);
      if (amounts.average) add(average, *amounts.average);
      add(asked, amounts.pending);
      add(share, amounts.share);
      add(lent, amounts.lent());
    }
  }
  return prometheus::TextSerializer().Serialize(registry.Collect());
}

}  // namespace muster::extender
