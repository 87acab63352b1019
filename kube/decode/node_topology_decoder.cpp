// NodeResourceTopology of topology.node.k8s.io, as NFD's topology updater, the resource topology
// exporter and the NRI resource policy plugins write it: what it says of the kubelet's topology
// manager. v1alpha2 says it as the attribute topologyManagerPolicy, in the kubelet's words; an
// object without that, and v1alpha1, as the first of topologyPolicies (names of
// TopologyManagerPolicy in github.com/k8stopologyawareschedwg/noderesourcetopology-api;
// scheduler-plugins reads both in this order). The scope is not read: Muster plans a pod's GPUs as
// one set.
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::NumaPolicy;
using cluster::Result;

namespace {

constexpr std::string_view kPolicyAttribute = "topologyManagerPolicy";
constexpr size_t kShown = 64;  // bytes of a value, in a warning

constexpr NumaPolicyName kTopologyPolicyNames[] = {
    {"SingleNUMANodeContainerLevel", NumaPolicy::kSingleNumaNode},
    {"SingleNUMANodePodLevel", NumaPolicy::kSingleNumaNode},
    {"RestrictedContainerLevel", NumaPolicy::kRestricted},
    {"RestrictedPodLevel", NumaPolicy::kRestricted},
    {"Restricted", NumaPolicy::kRestricted},
    {"BestEffortContainerLevel", NumaPolicy::kBestEffort},
    {"BestEffortPodLevel", NumaPolicy::kBestEffort},
    {"BestEffort", NumaPolicy::kBestEffort},
    {"None", NumaPolicy::kNone}};

template <size_t kCount>
NumaPolicy Find(const NumaPolicyName (&names)[kCount], const JsonView& value,
                std::string_view expected, std::vector<Error>& ignored) {
  for (const NumaPolicyName& one : names) {
    if (value.Text() == one.name) return one.policy;
  }
  ignored.push_back({Code::kInvalidArgument,
                     "expected " + std::string(expected) + ", found \"" +
                         std::string(value.Text().substr(0, kShown)) + "\"",
                     value.Place()});
  return NumaPolicy::kNone;
}

}  // namespace

Result<DecodedNodeTopology> DecodeNodeTopology(const JsonNode& json, const DecodeOptions& options) {
  JsonProblems problems;
  const JsonView object(json, "NodeResourceTopology", problems);
  const ObjectMeta meta =
      ReadObjectMeta(object, "NodeResourceTopology", Scope::kCluster, options.source);
  DecodedNodeTopology decoded;
  decoded.topology.uid = meta.uid;
  decoded.topology.node = meta.key.name;
  NumaPolicy& policy = decoded.topology.policy;
  bool said = false;
  const JsonView attributes = object.Get("attributes");
  attributes.Items([&](const JsonView& attribute) {
    if (said || attribute.Get("name").Text() != kPolicyAttribute) return;
    said = true;
    policy = Find(kNumaPolicyNames, attribute.Get("value"),
                  "none, best-effort, restricted or single-numa-node", decoded.ignored);
  });
  const JsonView policies = object.Get("topologyPolicies");
  policies.Items([&](const JsonView& one) {
    if (std::exchange(said, true)) return;
    policy =
        Find(kTopologyPolicyNames, one,
             "None, or BestEffort, Restricted or SingleNUMANode with ContainerLevel or PodLevel",
             decoded.ignored);
  });
  if (!problems.none()) return problems.first();
  return decoded;
}

}  // namespace muster::kube
