// Kinds that are worth having, and that many clusters lack: which they are, and one object of them
// as a text. Pure functions, for any thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/news.hpp"

namespace muster::kube {

enum class OptionalKind {
  kNodeResourceTopologies,  // topology.node.k8s.io v1alpha2, v1alpha1
  kResourceSlices,          // resource.k8s.io v1, v1beta2, v1beta1
  kComputeDomains,          // resource.nvidia.com v1beta1
  kProvisioningRequests,    // autoscaling.x-k8s.io v1, v1beta1
};

struct OptionalKindNames {
  OptionalKind kind;
  const char* name;         // "noderesourcetopologies.topology.node.k8s.io", as kubectl names it
  std::string_view object;  // "NodeResourceTopology"
  std::string_view group;
  std::string_view resource;                 // "noderesourcetopologies"
  std::array<std::string_view, 3> versions;  // best first, then empty ones
};

std::span<const OptionalKindNames> OptionalKinds();
const OptionalKindNames& NamesOf(OptionalKind kind);
// Null: objects are of no optional kind if they call their kind so.
const OptionalKindNames* FindOptionalKind(std::string_view object);

// An object, and what it says.
struct DecodedOptional {
  cluster::ObjectKey key;  // `ns` is empty where the kind has no namespaces
  News news;
  std::vector<cluster::Error> ignored;  // what cannot be read and counts as not said
};
// `json`: of this kind in one of its versions.
cluster::Result<DecodedOptional> DecodeOptional(OptionalKind kind, std::string_view json,
                                                const DecodeOptions& options = {});

}  // namespace muster::kube
