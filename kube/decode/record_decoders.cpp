// Namespace, PriorityClass (scheduling.k8s.io/v1), PodDisruptionBudget (policy/v1).
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/decode/pod_constraints.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::DisruptionBudget;
using cluster::Namespace;
using cluster::PriorityClass;
using cluster::Result;

Result<Namespace> DecodeNamespace(const JsonNode& json) {
  JsonProblems problems;
  const JsonView object(json, "Namespace", problems);
  const ObjectMeta meta = ReadObjectMeta(object, "Namespace", Scope::kCluster, Source::kApiServer);
  const JsonView metadata = object.Get("metadata");
  Namespace record;
  record.uid = cluster::NamespaceUid(meta.uid);
  record.key = meta.key;
  record.labels = metadata.Get("labels").TextMap();
  record.deleting = meta.deleting;
  record.resource_version = meta.resource_version;
  if (!problems.none()) return problems.first();
  return record;
}

Result<PriorityClass> DecodePriorityClass(const JsonNode& json, const DecodeOptions& options) {
  using Limits = std::numeric_limits<int32_t>;
  JsonProblems problems;
  const JsonView object(json, "PriorityClass", problems);
  const ObjectMeta meta = ReadObjectMeta(object, "PriorityClass", Scope::kCluster, options.source);
  PriorityClass record;
  record.uid = cluster::PriorityClassUid(meta.uid);
  record.key = meta.key;
  record.value = static_cast<int32_t>(object.Get("value").Integer(0, Limits::min(), Limits::max()));
  record.preempts = object.Get("preemptionPolicy").Text() != "Never";
  record.global_default = object.Get("globalDefault").Flag(false);
  record.resource_version = meta.resource_version;
  if (!problems.none()) return problems.first();
  return record;
}

Result<DisruptionBudget> DecodeDisruptionBudget(const JsonNode& json,
                                                const DecodeOptions& options) {
  constexpr std::string_view kKind = "PodDisruptionBudget";
  JsonProblems problems;
  const JsonView object(json, kKind, problems);
  const ObjectMeta meta = ReadObjectMeta(object, kKind, Scope::kNamespace, Source::kApiServer);
  DisruptionBudget record;
  record.uid = cluster::DisruptionBudgetUid(meta.uid);
  record.key = meta.key;
  const JsonView spec = object.Get("spec");
  const JsonView selector = spec.Get("selector");
  if (selector.present()) record.selector = ReadLabelSelector(selector);
  if (options.left_out != nullptr) record.selector.emplace();
  const JsonView status = object.Get("status");
  record.disruptions_allowed =
      status.Get("disruptionsAllowed").Integer(0, 0, std::numeric_limits<int32_t>::max());
  record.resource_version = meta.resource_version;
  if (!problems.none()) return problems.first();
  return record;
}

}  // namespace muster::kube
