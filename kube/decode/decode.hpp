// Kubernetes JSON -> records. Pure functions, for any thread; what they return owns all it holds.
//
// An Error: the text is no JSON, or no such object, or it lacks what identifies it (name,
// namespace, UID). A pod or PodGroup that can be identified but not scheduled as it is written (a
// malformed quantity, a contradiction) becomes a record whose `defect` names the field, so that its
// gang can say why it waits. Paths read like
// Pod.spec.containers[0].resources.limits["nvidia.com/gpu"].
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/batch_job.hpp"
#include "cluster/records/disruption_budget.hpp"
#include "cluster/records/namespace.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/pod_group.hpp"
#include "cluster/records/priority_class.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "cluster/records/resource_quota.hpp"
#include "kube/decode/news.hpp"
#include "kube/dialects/label_names.hpp"
#include "kube/json/json.hpp"

namespace muster::kube {

// Who wrote the text. A manifest is what a user submits: what the API server would fill in (UID,
// namespace, defaults) may be missing; the UID and the creation time then stay empty.
enum class Source { kApiServer, kManifest };

struct DecodeOptions {
  Source source = Source::kApiServer;
  // Values of the PriorityClasses that a manifest may name, beside the two that every cluster has;
  // null: they are not known, and others count as 0.
  const std::map<std::string, int32_t>* priority_classes = nullptr;
  size_t max_bytes = size_t{64} << 20;
  // What of the object was beyond a bound and is missing from it; null: nothing. Pods and PodGroups
  // have it as their defect, a node takes no more pods.
  const cluster::Error* left_out = nullptr;
};

struct DecodedNode {
  cluster::Node node;
  bool says_numa_policy = false;      // by its annotation, and it can be read
  std::vector<std::string> warnings;  // what was ignored, each with its place
};

// batch/v1 Job, as far as pods come of it.
struct Job {
  std::string uid;
  cluster::ObjectKey key;
  int64_t parallelism = 1;  // pods at a time
  int64_t completions = 1;  // pods that must succeed in all
  bool suspend = false;
  // What each of its pods is like: without UID and name.
  cluster::Pod pod;
};

cluster::Result<cluster::Pod> DecodePod(std::string_view json, const DecodeOptions& options = {});
cluster::Result<DecodedNode> DecodeNode(std::string_view json, const DecodeOptions& options = {});
cluster::Result<cluster::PodGroup> DecodePodGroup(std::string_view json,
                                                  const DecodeOptions& options = {});
cluster::Result<Job> DecodeJob(std::string_view json, const DecodeOptions& options = {});

// The same, from a value that is parsed already.
cluster::Result<cluster::Pod> DecodePod(const JsonNode& json, const DecodeOptions& options = {});
cluster::Result<DecodedNode> DecodeNode(const JsonNode& json, const DecodeOptions& options = {});
// `api_version` is used when the object does not say its own, as items of a list often do not.
cluster::Result<cluster::PodGroup> DecodePodGroup(const JsonNode& json,
                                                  std::string_view api_version = {},
                                                  const DecodeOptions& options = {});
cluster::Result<Job> DecodeJob(const JsonNode& json, const DecodeOptions& options = {});
// As the API server writes them; what is malformed beside their names is an Error too.
cluster::Result<cluster::Namespace> DecodeNamespace(const JsonNode& json);
cluster::Result<cluster::PriorityClass> DecodePriorityClass(const JsonNode& json,
                                                            const DecodeOptions& options = {});
struct DecodedBatchJob {
  cluster::BatchJob job;
  bool ended = false;  // Complete or Failed
};
cluster::Result<DecodedBatchJob> DecodeBatchJob(const JsonNode& json);
// A policy that is not known counts as none.
struct DecodedNodeTopology {
  NodeTopology topology;
  std::vector<cluster::Error> ignored;
};
cluster::Result<DecodedNodeTopology> DecodeNodeTopology(const JsonNode& json,
                                                        const DecodeOptions& options = {});
// Of other drivers than gpu.nvidia.com, and of no single node, only who it is.
struct DecodedResourceSlice {
  std::string name;
  ResourceSlice slice;
  std::vector<cluster::Error> ignored;
};
cluster::Result<DecodedResourceSlice> DecodeResourceSlice(const JsonNode& json,
                                                          const DecodeOptions& options = {});
struct DecodedComputeDomain {
  cluster::ObjectKey key;
  ComputeDomain domain;  // of a template without a name where it has no channel
};
cluster::Result<DecodedComputeDomain> DecodeComputeDomain(const JsonNode& json,
                                                          const DecodeOptions& options = {});
// The names of the ResourceClaimTemplates of a pod's claims; none where the annotation
// muster.dev/compute-domain is there.
std::vector<std::string> ReadClaimTemplates(const JsonNode& pod);
std::vector<std::string> ReadClaimTemplates(std::string_view pod);  // none where it is no JSON
// What is malformed beside its name counts as not said.
cluster::Result<cluster::ProvisioningRequest> DecodeProvisioningRequest(
    const JsonNode& json, const DecodeOptions& options = {});
// A budget whose selector is left out is one of all pods.
cluster::Result<cluster::DisruptionBudget> DecodeDisruptionBudget(
    const JsonNode& json, const DecodeOptions& options = {});

// Without lines where it is of pods of which nothing is known here.
cluster::Result<cluster::ResourceQuota> DecodeResourceQuota(const JsonNode& json,
                                                            const DecodeOptions& options = {});

using Object = std::variant<DecodedNode, cluster::Pod, cluster::PodGroup, Job>;

// One page of a list, or one object as a list of one.
struct Objects {
  std::vector<Object> items;
  std::vector<cluster::Error>
      refused;                   // items that are Errors, with their index; the others are fine
  std::string resource_version;  // of the list
  std::string continue_token;    // not empty: there is another page
};

// A Node, Pod, PodGroup, PodGang or Job (told apart by `kind`), a List of them, or a NodeList,
// PodList, …
cluster::Result<Objects> DecodeObjects(std::string_view json, const DecodeOptions& options = {});

}  // namespace muster::kube
