#include <string>
#include <vector>

#include "cluster/records/hami_devices.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/node_devices.hpp"
#include "kube/decode/node_links.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/encode/encode.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Node;

namespace {

void AppendMetadata(JsonWriter& json, const Node& node, int64_t advertised) {
  json.Key("metadata").BeginObject().Key("name").Text(node.name);
  if (!node.uid.empty()) json.Key("uid").Text(node.uid.text());
  json.Key("creationTimestamp").Null();
  if (!node.labels.empty()) {
    json.Key("labels").BeginObject();
    for (const auto& [key, value] : node.labels) json.TextKey(key).Text(value);
    json.EndObject();
  }
  const cluster::Labels no_annotations;
  std::vector<std::string> warnings;
  const bool devices =
      node.plugin == cluster::DevicePlugin::kHami ||
      ReadNodeDevices({node.labels, no_annotations, advertised}, warnings) != node.gpus;
  const bool numa = node.numa_policy != cluster::NumaPolicy::kNone;
  const bool hami = node.plugin == cluster::DevicePlugin::kHami;
  const bool annotated = devices || numa || hami || !node.topology.empty();
  if (annotated) json.Key("annotations").BeginObject();
  if (devices) {
    std::string list;
    AppendGpuDevices(list, node.gpus);
    json.Key(kGpuDevicesAnnotation).Text(list);
  }
  // A register that says whose the plugin is; the list above says what the devices are.
  if (hami) json.Key(kHamiRegisterAnnotation).Text(R"([{"id":"GPU-0"}])");
  if (!node.hami_lock.empty()) json.Key(cluster::kHamiLockAnnotation).Text(node.hami_lock);
  if (node.topology_source == cluster::TopologySource::kPairScores) {
    std::string scores;
    AppendHamiScores(scores, node);
    json.Key(kHamiScoresAnnotation).Text(scores);
  } else if (!node.topology.empty()) {
    json.Key(kGpuTopologyAnnotation).Text(node.topology);
  }
  for (const NumaPolicyName& one : kNumaPolicyNames) {
    if (numa && one.policy == node.numa_policy) json.Key(kNumaPolicyAnnotation).Text(one.name);
  }
  if (annotated) json.EndObject();
  json.EndObject();
}

void AppendSpec(JsonWriter& json, const Node& node) {
  json.Key("spec").BeginObject();
  if (!node.taints.empty()) {
    json.Key("taints").BeginArray();
    for (const cluster::Taint& taint : node.taints) {
      json.BeginObject().Key("key").Text(taint.key);
      if (!taint.value.empty()) json.Key("value").Text(taint.value);
      json.Key("effect").Text(EffectText(taint.effect)).EndObject();
    }
    json.EndArray();
  }
  if (node.unschedulable) json.Key("unschedulable").Flag(true);
  json.EndObject();
}

}  // namespace

std::string_view EffectText(cluster::TaintEffect effect) {
  switch (effect) {
    case cluster::TaintEffect::kNoSchedule:
      return "NoSchedule";
    case cluster::TaintEffect::kPreferNoSchedule:
      return "PreferNoSchedule";
    case cluster::TaintEffect::kNoExecute:
      return "NoExecute";
  }
  return "NoSchedule";
}

void AppendNode(std::string& out, const Node& node) {
  const int64_t advertised = AdvertisedGpus(node.gpus);
  JsonWriter json(out);
  json.BeginObject();
  AppendMetadata(json, node, advertised);
  AppendSpec(json, node);
  json.Key("status").BeginObject().Key("allocatable").BeginObject();
  json.Key("cpu").Text(std::to_string(node.allocatable.cpu.value()) + "m");
  json.Key("memory").Text(std::to_string(node.allocatable.memory.value()) + "Mi");
  for (const cluster::NamedAmount& one : node.allocatable.named.list())
    json.TextKey(one.name).Text(std::to_string(one.amount));
  if (!node.gpus.empty()) json.Key(kGpuResource).Text(std::to_string(advertised));
  json.Key("pods").Text(std::to_string(node.allocatable.pods)).EndObject();
  json.Key("conditions").BeginArray().BeginObject().Key("type").Text("Ready");
  json.Key("status").Text(node.ready ? "True" : "False").EndObject().EndArray();
  json.EndObject().EndObject();
}

}  // namespace muster::kube
