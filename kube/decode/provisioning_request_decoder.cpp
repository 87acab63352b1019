// ProvisioningRequest of autoscaling.x-k8s.io, v1 and v1beta1: what Muster's annotations say of it,
// and how far cluster-autoscaler has come with it, by its conditions.
#include <array>
#include <string>
#include <string_view>

#include "kube/decode/decode.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::ProvisioningRequest;
using cluster::RequestState;
using cluster::Result;

namespace {

struct StateOfCondition {
  std::string_view type;
  RequestState state;
};
// What is True and comes first here counts.
constexpr std::array<StateOfCondition, 5> kStates = {{
    {"Failed", RequestState::kFailed},
    {"CapacityRevoked", RequestState::kRevoked},
    {"BookingExpired", RequestState::kExpired},
    {"Provisioned", RequestState::kProvisioned},
    {"Accepted", RequestState::kAccepted},
}};

constexpr size_t kLongestMessage = 512;

size_t RankOf(std::string_view type) {
  for (size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i].type == type) return i;
  }
  return kStates.size();
}

std::string MessageOf(const JsonView& condition) {
  std::string_view message = condition.Get("message").Text();
  if (message.empty()) message = condition.Get("reason").Text();
  return std::string(CutText(message, kLongestMessage));
}

void ReadConditions(const JsonView& conditions, ProvisioningRequest& request) {
  size_t best = kStates.size();
  std::string not_yet;
  conditions.Items([&](const JsonView& condition) {
    const size_t rank = RankOf(condition.Get("type").Text());
    const std::string_view status = condition.Get("status").Text();
    // No room was found so far, or it was not accepted; that is tried again.
    if (status == "False" && rank >= RankOf("Provisioned") && rank < kStates.size())
      not_yet = MessageOf(condition);
    if (status != "True" || rank >= best) return;
    best = rank;
    request.state = kStates[rank].state;
    request.message = MessageOf(condition);
    const Result<cluster::Time> since = ParseTimestamp(condition.Get("lastTransitionTime").Text());
    if (since.ok()) request.since = *since;
  });
  const bool open = request.state == RequestState::kNew || request.state == RequestState::kAccepted;
  if (open) request.message = not_yet;
}

// "gang/train", "pod/train-0"; nothing: not Muster's.
cluster::GangId GangOf(std::string_view asked_for, const std::string& ns) {
  constexpr std::string_view kGang = "gang/";
  constexpr std::string_view kPod = "pod/";
  if (asked_for.starts_with(kGang)) return {{ns, std::string(asked_for.substr(kGang.size()))}};
  if (asked_for.starts_with(kPod)) return {{ns, std::string(asked_for.substr(kPod.size()))}, true};
  return {};
}

}  // namespace

Result<ProvisioningRequest> DecodeProvisioningRequest(const JsonNode& json,
                                                      const DecodeOptions& options) {
  JsonProblems problems;
  const JsonView object(json, "ProvisioningRequest", problems);
  const ObjectMeta meta =
      ReadObjectMeta(object, "ProvisioningRequest", Scope::kNamespace, options.source);
  if (!problems.none()) return problems.first();
  ProvisioningRequest request;
  request.key = meta.key;
  request.uid = cluster::ProvisioningRequestUid(meta.uid);
  request.resource_version = meta.resource_version;
  request.since = meta.created;
  // What of the rest is malformed says nothing: nobody else's object is Muster's to complain of.
  JsonProblems ignored;
  const JsonView whole(json, "ProvisioningRequest", ignored);
  const JsonView metadata = whole.Get("metadata");
  const JsonView annotations = metadata.Get("annotations");
  request.gang = GangOf(annotations.Get(cluster::kAskedForAnnotation).Text(), meta.key.ns);
  request.fingerprint = annotations.Get(cluster::kAskAnnotation).Text();
  const std::string attempt(annotations.Get(cluster::kAttemptAnnotation).Text());
  request.attempt = 0;
  for (const char c : attempt.substr(0, 9)) {
    if (c < '0' || c > '9') break;
    request.attempt = request.attempt * 10 + (c - '0');
  }
  if (request.attempt == 0) request.attempt = 1;
  const JsonView spec = whole.Get("spec");
  request.class_name = spec.Get("provisioningClassName").Text();
  const JsonView sets = spec.Get("podSets");
  sets.Items([&](const JsonView&) { ++request.pod_sets; });
  const JsonView status = whole.Get("status");
  const JsonView conditions = status.Get("conditions");
  ReadConditions(conditions, request);
  return request;
}

}  // namespace muster::kube
