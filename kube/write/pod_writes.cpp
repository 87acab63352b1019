#include "kube/write/pod_writes.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "cluster/records/hami_devices.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "kube/api/http_status.hpp"
#include "kube/dialects/gang_record.hpp"
#include "kube/encode/encode.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::Pod;
using cluster::Result;
using engine::OutcomeKind;

namespace {

// Less than the margin that a lease leaves, so that no write ends after it: 15 s - 10 s, and then
// some.
constexpr std::chrono::milliseconds kWriteTimeout{4'000};

constexpr const char* kStrategicMerge = "application/strategic-merge-patch+json";
constexpr const char* kMerge = "application/merge-patch+json";

std::string PodPath(const engine::PodRef& pod) {
  return "/api/v1/namespaces/" + pod.key.ns + "/pods/" + pod.key.name;
}

// {"metadata":{"uid":…, and the caller goes on inside metadata.
JsonWriter& BeginPatch(JsonWriter& json, const engine::PodRef& pod) {
  return json.BeginObject().Key("metadata").BeginObject().Key("uid").Text(pod.uid.text());
}

// "annotations":{"muster.dev/epoch":…, and the caller goes on inside annotations.
JsonWriter& BeginEpoch(JsonWriter& json, const std::string& epoch) {
  json.Key("annotations").BeginObject();
  return json.TextKey(cluster::kEpochAnnotation).Text(epoch);
}

ApiRequest Make(const engine::Nominate& action, const WriteContext& context) {
  ApiRequest request{.method = Method::kPatch, .path = PodPath(action.pod) + "/status"};
  request.content_type = kMerge;
  request.metadata_only = true;
  JsonWriter json(request.body);
  BeginPatch(json, action.pod);
  if (action.hands_over) BeginEpoch(json, context.epoch).EndObject();
  json.EndObject().Key("status").BeginObject().Key("nominatedNodeName");
  if (action.node.empty()) {
    json.Null();
  } else {
    json.Text(action.node);
  }
  if (action.unsays) json.Key("message").Null();
  json.EndObject().EndObject();
  return request;
}

ApiRequest Make(const engine::TellPod& action, const WriteContext& /*context*/) {
  ApiRequest request{.method = Method::kPatch, .path = PodPath(action.pod) + "/status"};
  request.content_type = kMerge;
  request.metadata_only = true;
  JsonWriter json(request.body);
  BeginPatch(json, action.pod).EndObject().Key("status").BeginObject();
  json.Key("message").Text(action.message).EndObject().EndObject();
  return request;
}

ApiRequest Make(const engine::RemoveGate& action, const WriteContext& context) {
  ApiRequest request{.method = Method::kPatch, .path = PodPath(action.pod)};
  request.content_type = kStrategicMerge;
  request.metadata_only = true;
  JsonWriter json(request.body);
  BeginPatch(json, action.pod);
  if (action.hands_over) BeginEpoch(json, context.epoch).EndObject();
  json.EndObject().Key("spec").BeginObject();
  if (!action.pin.empty()) {
    cluster::NodeConstraints constraints = action.spec->constraints;
    cluster::PinTo(action.pin, &constraints);
    AppendAffinity(json.Key("affinity"), constraints);
  }
  json.Key("schedulingGates").BeginArray().BeginObject();
  json.Key("$patch").Text("delete").Key("name").Text(cluster::kGangGate);
  json.EndObject().EndArray().EndObject().EndObject();
  return request;
}

ApiRequest Make(const engine::WakePod& action, const WriteContext& context) {
  ApiRequest request{.method = Method::kPatch, .path = PodPath(action.pod)};
  request.content_type = kMerge;
  request.metadata_only = true;
  JsonWriter json(request.body);
  BeginPatch(json, action.pod);
  BeginEpoch(json, context.epoch).TextKey(kWakeAnnotation).Text(std::to_string(context.nonce));
  json.EndObject().EndObject().EndObject();
  return request;
}

ApiRequest Make(const engine::RecordPod& action, const WriteContext& /*context*/) {
  ApiRequest request{.method = Method::kPatch, .path = PodPath(action.pod)};
  request.content_type = kMerge;
  request.metadata_only = true;
  JsonWriter json(request.body);
  BeginPatch(json, action.pod).Key("annotations").BeginObject();
  json.TextKey(cluster::kGangRecordAnnotation).Text(FormatGangRecord(action.record));
  json.EndObject().EndObject().EndObject();
  return request;
}

std::string GpuList(const std::vector<cluster::GpuIndex>& gpus) {
  std::string text;
  for (const cluster::GpuIndex gpu : gpus) {
    if (!text.empty()) text += ',';
    text += std::to_string(gpu.value);
  }
  return text;
}

// What HAMi's scheduler writes at Filter and at Bind, see hami_devices.hpp.
void AppendHami(JsonWriter& json, const engine::BindPod& action, const WriteContext& context) {
  const std::string now = std::to_string(context.now);
  json.TextKey(cluster::kHamiNodeAnnotation).Text(action.node);
  json.TextKey(cluster::kHamiTimeAnnotation).Text(now);
  json.TextKey(cluster::kHamiPhaseAnnotation).Text(cluster::kHamiAllocating);
  json.TextKey(cluster::kHamiBindTimeAnnotation).Text(now);
  json.TextKey(cluster::kHamiToAllocateAnnotation).Text(action.hami_devices);
  json.TextKey(cluster::kHamiAllocatedAnnotation).Text(action.hami_devices);
}

ApiRequest Make(const engine::BindPod& action, const WriteContext& context) {
  ApiRequest request{
      .method = Method::kPost, .lane = Lane::kBind, .path = PodPath(action.pod) + "/binding"};
  JsonWriter json(request.body);
  json.BeginObject().Key("apiVersion").Text("v1").Key("kind").Text("Binding");
  json.Key("metadata").BeginObject().Key("name").Text(action.pod.key.name);
  json.Key("namespace").Text(action.pod.key.ns).Key("uid").Text(action.pod.uid.text());
  if (context.resource_version > 0) {
    json.Key("resourceVersion").Text(std::to_string(context.resource_version));
  }
  json.Key("annotations").BeginObject().TextKey(cluster::kBoundByAnnotation);
  json.Text(cluster::kBoundByMuster);
  if (!action.gang.empty()) json.TextKey(cluster::kBoundInAnnotation).Text(action.gang);
  if (!action.gpus.empty()) json.TextKey(cluster::kGpusAnnotation).Text(GpuList(action.gpus));
  if (!action.gpu_uuids.empty()) json.TextKey(cluster::kGpuUuidsAnnotation).Text(action.gpu_uuids);
  if (action.rank) json.TextKey(cluster::kRankAnnotation).Text(std::to_string(*action.rank));
  if (!action.topology_path.empty())
    json.TextKey(cluster::kTopologyPathAnnotation).Text(action.topology_path);
  if (action.keeps_node) {
    json.TextKey(cluster::kDoNotDisrupt).Text("true");
    json.TextKey(cluster::kSafeToEvict).Text("false");
  }
  if (!action.consumes.empty()) {
    json.TextKey(cluster::kConsumesRequest).Text(action.consumes);
    json.TextKey(cluster::kRequestClass).Text(action.request_class);
  }
  if (!action.hami_devices.empty()) AppendHami(json, action, context);
  json.EndObject().EndObject();
  json.Key("target").BeginObject().Key("apiVersion").Text("v1").Key("kind").Text("Node");
  json.Key("name").Text(action.node).EndObject().EndObject();
  return request;
}

ApiRequest Make(const engine::EndHamiTurn& action, const WriteContext& /*context*/) {
  ApiRequest request{.method = Method::kPatch, .path = PodPath(action.pod)};
  request.content_type = kMerge;
  request.metadata_only = true;
  JsonWriter json(request.body);
  BeginPatch(json, action.pod).Key("annotations").BeginObject();
  json.TextKey(cluster::kHamiBindTimeAnnotation).Null();
  json.EndObject().EndObject().EndObject();
  return request;
}

// Of DeleteOptions, which has been begun.
void AppendDeleteOptions(JsonWriter& json, const engine::EvictPod& action,
                         const WriteContext& context) {
  json.Key("preconditions").BeginObject();
  json.Key("uid").Text(action.pod.uid.text()).EndObject();
  if (action.grace) json.Key("gracePeriodSeconds").Integer(action.grace->value() / 1000);
  if (context.dry_run) json.Key("dryRun").BeginArray().Text("All").EndArray();
}

ApiRequest Make(const engine::EvictPod& action, const WriteContext& context) {
  ApiRequest request{.method = Method::kPost, .path = PodPath(action.pod) + "/eviction"};
  JsonWriter json(request.body);
  json.BeginObject().Key("apiVersion").Text("policy/v1").Key("kind").Text("Eviction");
  json.Key("metadata").BeginObject().Key("name").Text(action.pod.key.name);
  json.Key("namespace").Text(action.pod.key.ns).EndObject();
  json.Key("deleteOptions").BeginObject();
  AppendDeleteOptions(json, action, context);
  json.EndObject().EndObject();
  return request;
}

// The `message` of a Status, or the beginning of what came instead.
std::string MessageOf(const ApiReply& reply) {
  constexpr size_t kShown = 300;
  std::string text = "HTTP " + std::to_string(reply.status);
  const Result<Json> json = Json::Parse(reply.body, size_t{1} << 20, "status");
  if (!json.ok()) return text;
  JsonProblems problems;
  const JsonView status(json->root(), "status", problems);
  const std::string_view message = status.Get("message").Text();
  if (!message.empty()) text += ": " + std::string(message.substr(0, kShown));
  return text;
}

bool IsSo(const engine::Nominate& action, const Pod& pod) {
  return pod.nominated_node == action.node;
}
bool IsSo(const engine::RemoveGate& /*action*/, const Pod& pod) { return !pod.gated_by_muster(); }
bool IsSo(const engine::WakePod& /*action*/, const Pod& /*pod*/) { return false; }
bool IsSo(const engine::RecordPod& action, const Pod& pod) {
  return pod.gang_record && *pod.gang_record == action.record;
}
bool IsSo(const engine::BindPod& action, const Pod& pod) { return pod.node_name == action.node; }
bool IsSo(const engine::EndHamiTurn& /*action*/, const Pod& pod) {
  return pod.hami_turn == cluster::HamiTurn::kNone;
}
bool IsSo(const engine::EvictPod& /*action*/, const Pod& pod) { return pod.ending(); }
// Whether it came is not known; that it says so is worth no second write, nor is it true any more
// when the pod has lost its gate.
bool IsSo(const engine::TellPod& /*action*/, const Pod& /*pod*/) { return true; }

// Why the pod as it is will never take the write; empty: it may.
std::string Obstacle(const PodWrite& write, const Pod& pod) {
  if (std::holds_alternative<engine::EvictPod>(write)) return {};
  if (std::holds_alternative<engine::RecordPod>(write)) return {};
  if (std::holds_alternative<engine::EndHamiTurn>(write)) return {};
  if (pod.bound()) return "bound to " + pod.node_name;
  if (pod.deleting) return "being deleted";
  if (pod.terminal()) return "has ended";
  if (std::holds_alternative<engine::BindPod>(write) && !pod.gates.empty()) {
    return "held by gate " + pod.gates.front();
  }
  return {};
}

}  // namespace

const engine::PodRef& PodOf(const PodWrite& write) {
  return std::visit([](const auto& one) -> const engine::PodRef& { return one.pod; }, write);
}

engine::ActionId IdOf(const PodWrite& write) {
  return std::visit([](const auto& one) { return one.id; }, write);
}

std::string Describe(const PodWrite& write) {
  const std::string pod = PodOf(write).key.ToString();
  if (const auto* nominate = std::get_if<engine::Nominate>(&write)) {
    if (nominate->node.empty()) return "clear the nomination of " + pod;
    return "nominate " + pod + " for " + nominate->node;
  }
  if (const auto* bind = std::get_if<engine::BindPod>(&write)) {
    return "bind " + pod + " to " + bind->node;
  }
  if (std::holds_alternative<engine::RemoveGate>(write)) return "release " + pod;
  if (std::holds_alternative<engine::EvictPod>(write)) return "evict " + pod;
  if (std::holds_alternative<engine::RecordPod>(write)) return "write the gang's record on " + pod;
  if (std::holds_alternative<engine::EndHamiTurn>(write)) return "end HAMi's turn of " + pod;
  if (std::holds_alternative<engine::TellPod>(write)) return "tell " + pod + " why it waits";
  return "wake " + pod;
}

ApiRequest RequestOf(const PodWrite& write, const WriteContext& context) {
  ApiRequest request = std::visit([&](const auto& one) { return Make(one, context); }, write);
  request.timeout = kWriteTimeout;
  return request;
}

ApiRequest GetPod(const engine::PodRef& pod) {
  return {.method = Method::kGet, .path = PodPath(pod), .timeout = kWriteTimeout};
}

ApiRequest FenceRequest(const engine::PodRef& pod, const std::string& epoch) {
  ApiRequest request{.method = Method::kPatch, .path = PodPath(pod) + "/status"};
  request.content_type = kMerge;
  JsonWriter json(request.body);
  BeginPatch(json, pod);
  BeginEpoch(json, epoch).EndObject().EndObject().EndObject();
  return request;
}

ApiRequest DisruptionTargetOf(const engine::EvictPod& evict, const WriteContext& context) {
  ApiRequest request{.method = Method::kPatch, .path = PodPath(evict.pod) + "/status"};
  request.content_type = kStrategicMerge;
  request.metadata_only = true;
  request.timeout = kWriteTimeout;
  JsonWriter json(request.body);
  BeginPatch(json, evict.pod).EndObject().Key("status").BeginObject();
  json.Key("conditions").BeginArray().BeginObject();
  json.Key("type").Text("DisruptionTarget").Key("status").Text("True");
  json.Key("reason").Text("PreemptionByScheduler").Key("message").Text("Muster: " + evict.why);
  json.Key("lastTransitionTime").Text(FormatTimestamp(cluster::Time(context.now * 1000)));
  json.EndObject().EndArray().EndObject().EndObject();
  return request;
}

ApiRequest DeletionOf(const engine::EvictPod& evict, const WriteContext& context) {
  ApiRequest request{.method = Method::kDelete, .path = PodPath(evict.pod)};
  request.timeout = kWriteTimeout;
  JsonWriter json(request.body);
  json.BeginObject().Key("apiVersion").Text("v1").Key("kind").Text("DeleteOptions");
  AppendDeleteOptions(json, evict, context);
  json.EndObject();
  return request;
}

bool RefusedByBudget(const ApiReply& answer) {
  constexpr std::string_view kTwo = "more than one PodDisruptionBudget";
  if (answer.status == kHttpTooManyRequests) return !answer.retry_after;
  return answer.status >= 500 && MessageOf(answer).find(kTwo) != std::string::npos;
}

bool LacksDeletion(const ApiReply& answer) {
  constexpr std::string_view kLacks = "cannot delete resource";
  return answer.status == kHttpForbidden && MessageOf(answer).find(kLacks) != std::string::npos;
}

Verdict JudgeAnswer(const PodWrite& write, const Result<ApiReply>& answer) {
  if (!answer.ok()) {
    return {Standing::kLook, OutcomeKind::kRetry, answer.error().ToString()};
  }
  if (answer->ok()) return {};
  std::string message = MessageOf(*answer);
  switch (answer->status) {
    case kHttpNotFound:
      return {Standing::kSettled, OutcomeKind::kGone, std::move(message)};
    case kHttpTooManyRequests:
      // An eviction that a PodDisruptionBudget refuses is for the engine to wait for.
      if (std::holds_alternative<engine::EvictPod>(write) && RefusedByBudget(*answer)) {
        return {Standing::kSettled, OutcomeKind::kRetry, std::move(message)};
      }
      return {Standing::kLater, OutcomeKind::kRetry, std::move(message)};
    case kHttpConflict:
    case kHttpUnprocessable:
      return {Standing::kLook, OutcomeKind::kConflict, std::move(message)};
    case kHttpUnauthorized:
    case kHttpForbidden:
      // An API server that has just started refuses everybody until its authorizer knows the roles.
      return {Standing::kLater, OutcomeKind::kRefused, std::move(message)};
    default:
      if (answer->status >= 500) return {Standing::kLook, OutcomeKind::kRetry, std::move(message)};
      return {Standing::kLook, OutcomeKind::kRefused, std::move(message)};
  }
}

Verdict JudgePod(const PodWrite& write, const std::optional<Pod>& pod, const Verdict& answer) {
  if (!pod || pod->uid != PodOf(write).uid) {
    return {Standing::kSettled, OutcomeKind::kGone, "the pod does not exist any more"};
  }
  if (std::visit([&](const auto& one) { return IsSo(one, *pod); }, write)) return {};
  if (std::string obstacle = Obstacle(write, *pod); !obstacle.empty()) {
    return {Standing::kSettled, OutcomeKind::kConflict, std::move(obstacle)};
  }
  // Refused for what it says, not for when: the same write fails again.
  if (answer.kind == OutcomeKind::kRefused) {
    return {Standing::kSettled, OutcomeKind::kRefused, answer.message};
  }
  return {Standing::kLater, OutcomeKind::kRetry, answer.message};
}

}  // namespace muster::kube
