#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/base/quantity.hpp"
#include "cluster/records/hami_devices.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/decode/node_devices.hpp"
#include "kube/decode/node_links.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/dialects/resource_names.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Node;
using cluster::Resources;
using cluster::Result;
using cluster::Round;
using cluster::Taint;
using cluster::TaintEffect;

namespace {

// The kubelet's own default.
constexpr int64_t kDefaultPodSlots = 110;

std::vector<Taint> ReadTaints(const JsonView& spec, std::vector<std::string>& warnings) {
  std::vector<Taint> taints;
  const JsonView list = spec.Get("taints");
  list.Items([&](const JsonView& item) {
    Taint taint;
    taint.key = item.Get("key").RequiredText();
    taint.value = item.Get("value").Text();
    const JsonView effect = item.Get("effect");
    if (effect.Text() == "PreferNoSchedule") {
      taint.effect = TaintEffect::kPreferNoSchedule;
    } else if (effect.Text() == "NoExecute") {
      taint.effect = TaintEffect::kNoExecute;
    } else if (effect.Text() != "NoSchedule") {
      warnings.push_back(effect.Place() + ": not known, taken as NoSchedule");
    }
    taints.push_back(std::move(taint));
  });
  return taints;
}

// Without a word of the kubelet a real node is not ready; a node from a manifest has no kubelet.
bool ReadReady(const JsonView& status, Source source) {
  bool ready = source == Source::kManifest;
  const JsonView conditions = status.Get("conditions");
  conditions.Items([&](const JsonView& condition) {
    if (condition.Get("type").Text() == "Ready") ready = condition.Get("status").Text() == "True";
  });
  return ready;
}

struct Offer {
  Resources resources;
  int64_t gpus = 0;
  int64_t gpu_capacity = 0;  // with those that are unhealthy
};

// status.allocatable, or status.capacity where that is all there is.
Offer ReadOffer(const JsonView& status, Source source) {
  const JsonView allocatable = status.Get("allocatable");
  const JsonView capacity = status.Get("capacity");
  const JsonView& amounts = allocatable.present() ? allocatable : capacity;
  Offer offer;
  const JsonView cpu = amounts.Get("cpu");
  if (cpu.present()) {
    const auto amount = cluster::ParseCpu(cpu.QuantityText(), Round::kDown);
    if (!amount.ok()) cpu.Problem(amount.error());
    if (amount.ok()) offer.resources.cpu = *amount;
  }
  const JsonView memory = amounts.Get("memory");
  if (memory.present()) {
    const auto amount = cluster::ParseMemory(memory.QuantityText(), Round::kDown);
    if (!amount.ok()) memory.Problem(amount.error());
    if (amount.ok()) offer.resources.memory = *amount;
  }
  const auto count = [](const JsonView& from, const char* resource, int64_t otherwise) {
    const JsonView quantity = from.Get(resource);
    if (!quantity.present()) return otherwise;
    const Result<int64_t> amount = cluster::ParseCount(quantity.QuantityText());
    if (!amount.ok()) quantity.Problem(amount.error());
    return amount.ok() ? *amount : otherwise;
  };
  offer.resources.pods = count(amounts, "pods", source == Source::kManifest ? kDefaultPodSlots : 0);
  std::vector<cluster::NamedAmount> named;
  amounts.Members([&](std::string_view resource, const JsonView& quantity) {
    if (!IsNamedResource(resource) || !quantity.present()) return;
    const Result<int64_t> amount = ParseAmount(quantity.QuantityText());
    if (amount.ok()) named.push_back({std::string(resource), *amount});
  });
  offer.resources.named = cluster::NamedAmounts(std::move(named));
  offer.gpus = count(amounts, kGpuResource, 0);
  offer.gpu_capacity = count(capacity, kGpuResource, 0);
  return offer;
}

void ReadPlugin(const cluster::Labels& annotations, Node& node) {
  if (!RegisteredByHami(annotations)) return;
  node.plugin = cluster::DevicePlugin::kHami;
  const auto lock = annotations.find(cluster::kHamiLockAnnotation);
  if (lock != annotations.end()) node.hami_lock = cluster::HamiLockOf(lock->second);
}

void ReadNumaPolicy(const cluster::Labels& annotations, DecodedNode& decoded) {
  const auto found = annotations.find(kNumaPolicyAnnotation);
  if (found == annotations.end()) return;
  for (const NumaPolicyName& one : kNumaPolicyNames) {
    if (found->second != one.name) continue;
    decoded.node.numa_policy = one.policy;
    decoded.says_numa_policy = true;
    return;
  }
  decoded.warnings.push_back(
      std::string("the NUMA policy is ignored: ") + kNumaPolicyAnnotation +
      ": expected none, best-effort, restricted or single-numa-node, found \"" + found->second +
      "\"");
}

}  // namespace

Result<DecodedNode> DecodeNode(const JsonNode& json, const DecodeOptions& options) {
  JsonProblems problems;
  const JsonView object(json, "Node", problems);
  const ObjectMeta meta = ReadObjectMeta(object, "Node", Scope::kCluster, options.source);
  if (!problems.none()) return problems.first();
  const JsonView metadata = object.Get("metadata");
  const JsonView spec = object.Get("spec");
  const JsonView status = object.Get("status");
  DecodedNode decoded;
  Node& node = decoded.node;
  node.uid = cluster::NodeUid(meta.uid);
  node.name = meta.key.name;
  node.labels = metadata.Get("labels").TextMap();
  node.taints = ReadTaints(spec, decoded.warnings);
  node.unschedulable = spec.Get("unschedulable").Flag(false);
  node.ready = ReadReady(status, options.source);
  const Offer offer = ReadOffer(status, options.source);
  node.allocatable = offer.resources;
  const cluster::Labels annotations = metadata.Get("annotations").TextMap();
  if (!problems.none()) return problems.first();
  if (options.left_out != nullptr) {
    node.unschedulable = true;
    decoded.warnings.push_back("the node takes no more pods: " + options.left_out->ToString());
  }
  node.gpus =
      ReadNodeDevices({node.labels, annotations, offer.gpus, offer.gpu_capacity}, decoded.warnings);
  ReadPlugin(annotations, node);
  ReadNodeLinks(annotations, node, decoded.warnings);
  ReadNumaPolicy(annotations, decoded);
  return decoded;
}

Result<DecodedNode> DecodeNode(std::string_view json, const DecodeOptions& options) {
  const Result<KeptObject> kept = KeptObject::Read(json, NodeFields(), "Node", options);
  if (!kept.ok()) return kept.error();
  return DecodeNode(kept->node(), kept->With(options));
}

}  // namespace muster::kube
