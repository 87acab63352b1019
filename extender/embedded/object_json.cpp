#include "extender/embedded/object_json.hpp"

#include "extender/wire/json_text.hpp"

namespace muster::extender {
namespace {

void AddKey(JsonText& json, const cluster::ObjectKey& key) {
  json.Add("namespace", key.ns);
  json.Add("name", key.name);
}

void AddNode(JsonText& json, const sim::NodeRecord& record) {
  json.Add("name", record.node.name);
  json.Add("ready", record.node.ready);
  json.Add("schedulable", record.node.schedulable());
  json.Add("gpus", static_cast<int64_t>(record.node.gpus.size()));
}

void AddPod(JsonText& json, const sim::PodRecord& record) {
  const cluster::Pod& pod = record.pod;
  AddKey(json, pod.key);
  json.Add("uid", pod.uid.text());
  json.Add("podGroup", pod.pod_group);
  json.Add("phase", ToString(pod.phase));
  json.Add("deleting", pod.deleting);
  json.AddNames("schedulingGates", pod.gates);
  json.Add("nominatedNode", pod.nominated_node);
  json.Add("node", pod.node_name);
  json.BeginArray("gpus");
  for (const cluster::GpuIndex gpu : pod.bound_gpus) json.Number(gpu.value);
  json.EndArray();
  if (!record.status_reason.empty()) {
    json.Add("reason", record.status_reason);
    json.Add("message", record.status_message);
  }
}

void AddPodGroup(JsonText& json, const sim::PodGroupRecord& record) {
  AddKey(json, record.group.key);
  json.Add("uid", record.group.uid.text());
  json.Add("minMember", record.group.min_member);
  json.Add("state", record.state);
  json.Add("reason", record.reason);
  json.Add("message", record.message);
  json.Add("bound", record.bound);
}

void AddJob(JsonText& json, const sim::JobRecord& record) {
  AddKey(json, record.key);
  json.Add("uid", record.uid);
  json.Add("active", record.active);
  json.Add("succeeded", record.succeeded);
  json.Add("failed", record.failed);
  json.Add("complete", record.complete);
}

void AddEvent(JsonText& json, const sim::EventRecord& record) {
  AddKey(json, record.key);
  json.Add("on", record.on_orders ? "Queue"
                 : record.on_node ? "Node"
                 : record.on_pod  ? "Pod"
                                  : "PodGroup");
  json.Add("type", record.warning ? "Warning" : "Normal");
  json.Add("reason", record.reason);
  json.Add("message", record.message);
  json.Add("count", record.count);
}

}  // namespace

std::optional<std::string> ObjectsJson(const sim::ApiServer& api, std::string_view kind) {
  JsonText json;
  json.BeginObject();
  json.BeginArray(kind);
  const auto each = [&](const auto& records, const auto& add) {
    for (const auto& record : records) {
      json.BeginObject();
      add(json, record);
      json.EndObject();
    }
  };
  if (kind == "nodes") {
    each(api.Nodes(), [](JsonText& out, const sim::NodePtr& node) { AddNode(out, *node); });
  } else if (kind == "pods") {
    each(api.Pods(), [](JsonText& out, const sim::PodPtr& pod) { AddPod(out, *pod); });
  } else if (kind == "podgroups") {
    each(api.PodGroups(), [](JsonText& out, const sim::PodGroupPtr& g) { AddPodGroup(out, *g); });
  } else if (kind == "jobs") {
    each(api.Jobs(), [](JsonText& out, const sim::JobPtr& job) { AddJob(out, *job); });
  } else if (kind == "events") {
    each(api.Events(), AddEvent);
  } else {
    return std::nullopt;
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string CreatedJson(const Manifests& manifests) {
  JsonText json;
  json.BeginObject();
  json.BeginArray("created");
  for (const ManifestObject& object : manifests.objects) {
    json.BeginObject();
    json.Add("kind", KindOf(object));
    AddKey(json, KeyOf(object));
    json.EndObject();
  }
  json.EndArray();
  json.AddNames("warnings", manifests.warnings);
  json.EndObject();
  return json.Take();
}

}  // namespace muster::extender
