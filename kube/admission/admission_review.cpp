#include "kube/admission/admission_review.hpp"

#include <algorithm>
#include <array>

#include "cluster/records/pod.hpp"
#include "http/messages/base64.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr std::string_view kReviewVersion = "admission.k8s.io/v1";
constexpr size_t kMaxReviewBytes = size_t{4} << 20;
constexpr std::array<const char*, 4> kGpuResources = {kGpuResource, kGpuMemoryResource,
                                                      kGpuMemoryPercentResource, kGpuCoresResource};
constexpr std::array<const char*, 2> kGpuAnnotations = {kGpuFractionAnnotation,
                                                        kGpuMemoryAnnotation};

// Of all pods of a workload, some of which may ask for no GPUs: a Ray head, an MPI launcher, a
// parameter server. Its gang starts with all of them.
constexpr std::array<const char*, 4> kWorkloadLabels = {
    "jobset.sigs.k8s.io/jobset-name", "leaderworkerset.sigs.k8s.io/name", "ray.io/cluster",
    "training.kubeflow.org/job-name"};

// Extended resources must have a limit, and the API server writes none of them as "0".
bool AsksForGpus(const JsonView& container) {
  const JsonView resources = container.Get("resources");
  const JsonView limits = resources.Get("limits");
  return std::any_of(kGpuResources.begin(), kGpuResources.end(), [&](const char* name) {
    const JsonView limit = limits.Get(name);
    return limit.present() && limit.QuantityText() != "0";
  });
}

bool AsksForGpus(const JsonView& annotations, const JsonView& spec) {
  for (const char* name : kGpuAnnotations) {
    const JsonView share = annotations.Get(name);
    if (share.present()) return true;
  }
  bool asks = false;
  for (const char* kind : {"containers", "initContainers"}) {
    const JsonView containers = spec.Get(kind);
    containers.Items([&](const JsonView& container) { asks = asks || AsksForGpus(container); });
  }
  return asks;
}

bool IsOfWorkload(const JsonView& metadata) {
  const JsonView labels = metadata.Get("labels");
  return std::any_of(kWorkloadLabels.begin(), kWorkloadLabels.end(), [&](const char* name) {
    const JsonView label = labels.Get(name);
    return label.present();
  });
}

// The kubelet of the node runs it, or its controller has chosen the node.
bool HasItsNode(const JsonView& metadata, const JsonView& annotations, const JsonView& spec) {
  const JsonView node = spec.Get("nodeName");
  const JsonView mirror = annotations.Get("kubernetes.io/config.mirror");
  bool daemon = false;
  const JsonView owners = metadata.Get("ownerReferences");
  owners.Items([&](const JsonView& owner) {
    const JsonView kind = owner.Get("kind");
    daemon = daemon || kind.Text() == "DaemonSet";
  });
  return !node.Text().empty() || mirror.present() || daemon;
}

bool HasGate(const JsonView& gates) {
  bool has = false;
  gates.Items([&](const JsonView& gate) {
    const JsonView name = gate.Get("name");
    has = has || name.Text() == cluster::kGangGate;
  });
  return has;
}

void AppendGate(JsonWriter& json) {
  json.BeginObject().Key("name").Text(cluster::kGangGate).EndObject();
}

std::string WritePatch(const JsonView& spec, bool named, const std::string& scheduler_name) {
  const JsonView gates = spec.Get("schedulingGates");
  const bool gated = HasGate(gates);
  if (named && gated) return {};
  std::string patch;
  JsonWriter json(patch);
  json.BeginArray();
  if (!named) {
    json.BeginObject().Key("op").Text("add").Key("path").Text("/spec/schedulerName");
    json.Key("value").Text(scheduler_name).EndObject();
  }
  if (!gated) {
    json.BeginObject().Key("op").Text("add").Key("path");
    json.Text(gates.present() ? "/spec/schedulingGates/-" : "/spec/schedulingGates").Key("value");
    if (!gates.present()) json.BeginArray();
    AppendGate(json);
    if (!gates.present()) json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  return patch;
}

bool IsCreation(const JsonView& request) {
  const JsonView operation = request.Get("operation");
  const JsonView resource = request.Get("resource");
  const JsonView group = resource.Get("group");
  const JsonView name = resource.Get("resource");
  const JsonView sub = request.Get("subResource");
  return operation.Text() == "CREATE" && group.Text().empty() && name.Text() == "pods" &&
         sub.Text().empty();
}

bool Spared(const JsonView& request, const AdmissionRules& rules) {
  const JsonView ns = request.Get("namespace");
  const std::string_view name = ns.Text();
  return name == kSystemNamespace || (!name.empty() && name == rules.own_namespace);
}

}  // namespace

TakenPods TakenPodsOf(std::string_view label) {
  if (label == "gpu") return TakenPods::kGpu;
  return label == "all" ? TakenPods::kAll : TakenPods::kNone;
}

std::string PatchOf(const JsonView& pod, const AdmissionRules& rules) {
  const JsonView metadata = pod.Get("metadata");
  const JsonView annotations = metadata.Get("annotations");
  const JsonView spec = pod.Get("spec");
  if (rules.taken == TakenPods::kNone || rules.scheduler_name.empty() ||
      HasItsNode(metadata, annotations, spec))
    return {};
  const JsonView scheduler = spec.Get("schedulerName");
  const std::string_view name = scheduler.Text();
  const bool named = name == rules.scheduler_name;
  if (!named && !name.empty() && name != kDefaultScheduler) return {};
  const bool taken = named || rules.taken == TakenPods::kAll || AsksForGpus(annotations, spec) ||
                     IsOfWorkload(metadata);
  if (!taken) return {};
  return WritePatch(spec, named, rules.scheduler_name);
}

Result<AdmissionAnswer> AnswerReview(std::string_view review, const AdmissionRules& rules) {
  const Result<Json> json = Json::Parse(review, kMaxReviewBytes, "AdmissionReview");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView root(json->root(), "AdmissionReview", problems);
  if (!root.ExpectObject()) return problems.first();
  const JsonView version = root.Get("apiVersion");
  const JsonView kind = root.Get("kind");
  if (version.Text() != kReviewVersion || kind.Text() != "AdmissionReview") {
    return Error{Code::kInvalidArgument,
                 "expected an AdmissionReview of " + std::string(kReviewVersion), ""};
  }
  const JsonView request = root.Get("request");
  const JsonView uid = request.Get("uid");
  const std::string_view id = uid.RequiredText();
  std::string patch;
  if (IsCreation(request) && !Spared(request, rules)) {
    const JsonView object = request.Get("object");
    if (object.ExpectObject()) patch = PatchOf(object, rules);
  }
  if (!problems.none()) return problems.first();
  AdmissionAnswer answer;
  answer.changed = !patch.empty();
  JsonWriter out(answer.body);
  out.BeginObject().Key("kind").Text("AdmissionReview").Key("apiVersion").Text(kReviewVersion);
  out.Key("response").BeginObject().Key("uid").Text(id).Key("allowed").Flag(true);
  if (answer.changed)
    out.Key("patch").Text(http::EncodeBase64(patch)).Key("patchType").Text("JSONPatch");
  out.EndObject().EndObject();
  return answer;
}

}  // namespace muster::kube
