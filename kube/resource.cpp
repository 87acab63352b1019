#include "kube/resource.hpp"

#include <utility>

#include "kube/decode.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

Result<Observed> ObserveNode(const JsonNode& object) {
  Result<DecodedNode> node = DecodeNode(object);
  if (!node.ok()) return node.error();
  return Observed{node->node.uid.text(), node->node.name, std::move(node->node),
                  std::move(node->warnings)};
}

template <typename Record>
Result<Observed> Namespaced(Result<Record> record) {
  if (!record.ok()) return record.error();
  return Observed{record->uid.text(), record->key.ToString(), *std::move(record), {}};
}

template <typename Record>
Result<Observed> ClusterWide(Result<Record> record) {
  if (!record.ok()) return record.error();
  return Observed{record->uid.text(), record->key.name, *std::move(record), {}};
}

Result<Observed> ObservePod(const JsonNode& object) { return Namespaced(DecodePod(object)); }

template <typename Removed, typename Uid>
engine::Fact Removal(const std::string& uid) {
  return Removed{Uid(uid)};
}

}  // namespace

Resource NodeResource() {
  return {"nodes", "/api/v1/nodes", ObserveNode, Removal<engine::NodeRemoved, cluster::NodeUid>,
          Removal<engine::NodeRemoved, cluster::NodeUid>};
}

Resource PodResource() {
  return {"pods", "/api/v1/pods", ObservePod, Removal<engine::PodRemoved, cluster::PodUid>,
          Removal<engine::PodRemoved, cluster::PodUid>, [](const std::string& uid) {
            return engine::PodRemoved{cluster::PodUid(uid), true};
          }};
}

Resource NamespaceResource() {
  return {"namespaces", "/api/v1/namespaces",
          [](const JsonNode& object) { return ClusterWide(DecodeNamespace(object)); },
          Removal<engine::NamespaceRemoved, cluster::NamespaceUid>,
          Removal<engine::NamespaceRemoved, cluster::NamespaceUid>};
}

Resource PriorityClassResource() {
  return {"priorityclasses", "/apis/scheduling.k8s.io/v1/priorityclasses",
          [](const JsonNode& object) { return ClusterWide(DecodePriorityClass(object)); },
          Removal<engine::PriorityClassRemoved, cluster::PriorityClassUid>,
          Removal<engine::PriorityClassRemoved, cluster::PriorityClassUid>};
}

Resource DisruptionBudgetResource() {
  return {"poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets",
          [](const JsonNode& object) { return Namespaced(DecodeDisruptionBudget(object)); },
          Removal<engine::DisruptionBudgetRemoved, cluster::DisruptionBudgetUid>,
          Removal<engine::DisruptionBudgetRemoved, cluster::DisruptionBudgetUid>};
}

Resource BatchJobResource() {
  return {"jobs", "/apis/batch/v1/jobs",
          [](const JsonNode& object) -> Result<Observed> {
            const Result<DecodedBatchJob> job = DecodeBatchJob(object);
            if (!job.ok()) return job.error();
            Observed observed{job->job.uid.text(), job->job.key.ToString(), job->job, {}};
            if (job->ended) observed.fact = engine::BatchJobRemoved{job->job.uid};
            return observed;
          },
          Removal<engine::BatchJobRemoved, cluster::JobUid>,
          Removal<engine::BatchJobRemoved, cluster::JobUid>};
}

Resource PodGroupResource(const std::string& api_version) {
  const std::string group = api_version.substr(0, api_version.find('/'));
  return {"podgroups." + group, "/apis/" + api_version + "/podgroups",
          [api_version](const JsonNode& object) {
            return Namespaced(DecodePodGroup(object, api_version));
          },
          Removal<engine::PodGroupRemoved, cluster::PodGroupUid>,
          Removal<engine::PodGroupUnserved, cluster::PodGroupUid>};
}

}  // namespace muster::kube
