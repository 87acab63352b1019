#include "kube/decode/optional_kinds.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/check.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

constexpr OptionalKindNames kKinds[] = {
    {OptionalKind::kNodeResourceTopologies,
     "noderesourcetopologies.topology.node.k8s.io",
     "NodeResourceTopology",
     "topology.node.k8s.io",
     "noderesourcetopologies",
     {"v1alpha2", "v1alpha1", ""}},
    {OptionalKind::kResourceSlices,
     "resourceslices.resource.k8s.io",
     "ResourceSlice",
     "resource.k8s.io",
     "resourceslices",
     {"v1", "v1beta2", "v1beta1"}},
    {OptionalKind::kComputeDomains,
     "computedomains.resource.nvidia.com",
     "ComputeDomain",
     "resource.nvidia.com",
     "computedomains",
     {"v1beta1", "", ""}},
    {OptionalKind::kProvisioningRequests,
     "provisioningrequests.autoscaling.x-k8s.io",
     "ProvisioningRequest",
     "autoscaling.x-k8s.io",
     "provisioningrequests",
     {"v1", "v1beta1", ""}},
};

std::span<const Kept> FieldsOf(OptionalKind kind) {
  switch (kind) {
    case OptionalKind::kProvisioningRequests:
      return ProvisioningRequestFields();
    case OptionalKind::kComputeDomains:
      return ComputeDomainFields();
    case OptionalKind::kResourceSlices:
      return ResourceSliceFields();
    case OptionalKind::kNodeResourceTopologies:
      break;
  }
  return NodeTopologyFields();
}

// "topology.node.k8s.io/v1alpha2 or v1alpha1"
std::string Versions(const OptionalKindNames& names) {
  std::string text = std::string(names.group) + "/";
  for (const std::string_view version : names.versions) {
    if (version.empty()) break;
    text.append(version == names.versions.front() ? "" : " or ").append(version);
  }
  return text;
}

Status CheckVersion(const OptionalKindNames& names, const JsonNode& json) {
  JsonProblems problems;
  const JsonView object(json, names.object, problems);
  const JsonView own = object.Get("apiVersion");
  const std::string_view version = own.Text();
  const bool known =
      std::any_of(names.versions.begin(), names.versions.end(), [&](std::string_view one) {
        return !one.empty() && version == std::string(names.group) + "/" + std::string(one);
      });
  if (known) return cluster::Ok{};
  own.Problem("expected " + Versions(names));
  return problems.first();
}

}  // namespace

std::span<const OptionalKindNames> OptionalKinds() { return kKinds; }

const OptionalKindNames& NamesOf(OptionalKind kind) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const auto& names) { return names.kind == kind; });
  MUSTER_CHECK(found != std::end(kKinds));
  return *found;
}

const OptionalKindNames* FindOptionalKind(std::string_view object) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const auto& names) { return names.object == object; });
  return found == std::end(kKinds) ? nullptr : found;
}

Result<DecodedOptional> DecodeOptional(OptionalKind kind, std::string_view json,
                                       const DecodeOptions& options) {
  const OptionalKindNames& names = NamesOf(kind);
  const Result<KeptObject> kept = KeptObject::Read(json, FieldsOf(kind), names.object, options);
  if (!kept.ok()) return kept.error();
  if (const Status fine = CheckVersion(names, kept->node()); !fine.ok()) return fine.error();
  DecodedOptional decoded;
  if (kept->left_out() != nullptr) decoded.ignored.push_back(*kept->left_out());
  const auto ignore = [&](const std::vector<Error>& ignored) {
    decoded.ignored.insert(decoded.ignored.end(), ignored.begin(), ignored.end());
  };
  if (kind == OptionalKind::kProvisioningRequests) {
    Result<cluster::ProvisioningRequest> request = DecodeProvisioningRequest(kept->node(), options);
    if (!request.ok()) return request.error();
    decoded.key = request->key;
    decoded.news = engine::Fact(*std::move(request));
  } else if (kind == OptionalKind::kComputeDomains) {
    Result<DecodedComputeDomain> domain = DecodeComputeDomain(kept->node(), options);
    if (!domain.ok()) return domain.error();
    decoded.key = domain->key;
    decoded.news = domain->domain;
  } else if (kind == OptionalKind::kResourceSlices) {
    Result<DecodedResourceSlice> slice = DecodeResourceSlice(kept->node(), options);
    if (!slice.ok()) return slice.error();
    decoded.key.name = slice->name;
    slice->slice.whole = kept->left_out() == nullptr;
    decoded.news = slice->slice;
    ignore(slice->ignored);
  } else {
    Result<DecodedNodeTopology> topology = DecodeNodeTopology(kept->node(), options);
    if (!topology.ok()) return topology.error();
    decoded.key.name = topology->topology.node;
    decoded.news = topology->topology;
    ignore(topology->ignored);
  }
  return decoded;
}

}  // namespace muster::kube
