#include "kube/resource.hpp"

#include <utility>

#include "kube/decode.hpp"
#include "kube/discovery.hpp"
#include "kube/kept_fields.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

Result<Observed> ObserveNode(const KeptObject& object) {
  Result<DecodedNode> node = DecodeNode(object.node(), object.With({}));
  if (!node.ok()) return node.error();
  return Observed{node->node.uid.text(), node->node.name, std::move(node->node),
                  std::move(node->warnings)};
}

// Of kinds whose records have no word for it.
std::vector<std::string> LeftOut(const KeptObject& object) {
  if (object.left_out() == nullptr) return {};
  return {object.left_out()->ToString()};
}

template <typename Record>
Result<Observed> Namespaced(Result<Record> record, std::vector<std::string> warnings = {}) {
  if (!record.ok()) return record.error();
  return Observed{record->uid.text(), record->key.ToString(), *std::move(record),
                  std::move(warnings)};
}

template <typename Record>
Result<Observed> ClusterWide(Result<Record> record, std::vector<std::string> warnings) {
  if (!record.ok()) return record.error();
  return Observed{record->uid.text(), record->key.name, *std::move(record), std::move(warnings)};
}

Result<Observed> ObservePod(const KeptObject& object) {
  return Namespaced(DecodePod(object.node(), object.With({})));
}

template <typename Removed, typename Uid>
engine::Fact Removal(const std::string& uid) {
  return Removed{Uid(uid)};
}

}  // namespace

Resource NodeResource() {
  return {"nodes",      "/api/v1/nodes", "Node",
          NodeFields(), ObserveNode,     Removal<engine::NodeRemoved, cluster::NodeUid>};
}

Resource PodResource() {
  return {"pods",
          "/api/v1/pods",
          "Pod",
          PodFields(),
          ObservePod,
          Removal<engine::PodRemoved, cluster::PodUid>,
          nullptr,
          [](const std::string& uid) {
            return engine::PodRemoved{cluster::PodUid(uid), true}; }};
}

Resource NamespaceResource() {
  return {"namespaces",
          "/api/v1/namespaces",
          "Namespace",
          NamespaceFields(),
          [](const KeptObject& object) {
            return ClusterWide(DecodeNamespace(object.node()), LeftOut(object));
          },
          Removal<engine::NamespaceRemoved, cluster::NamespaceUid>};
}

Resource PriorityClassResource() {
  return {"priorityclasses",
          "/apis/scheduling.k8s.io/v1/priorityclasses",
          "PriorityClass",
          PriorityClassFields(),
          [](const KeptObject& object) {
            return ClusterWide(DecodePriorityClass(object.node()), LeftOut(object));
          },
          Removal<engine::PriorityClassRemoved, cluster::PriorityClassUid>};
}

Resource DisruptionBudgetResource() {
  return {"poddisruptionbudgets",
          "/apis/policy/v1/poddisruptionbudgets",
          "PodDisruptionBudget",
          DisruptionBudgetFields(),
          [](const KeptObject& object) {
            return Namespaced(DecodeDisruptionBudget(object.node(), object.With({})),
                              LeftOut(object));
          },
          Removal<engine::DisruptionBudgetRemoved, cluster::DisruptionBudgetUid>};
}

Resource BatchJobResource() {
  return {
      "jobs",
      "/apis/batch/v1/jobs",
      "Job",
      BatchJobFields(),
      [](const KeptObject& object) -> Result<Observed> {
        const Result<DecodedBatchJob> job = DecodeBatchJob(object.node());
        if (!job.ok()) return job.error();
        Observed observed{job->job.uid.text(), job->job.key.ToString(), job->job, LeftOut(object)};
        if (job->ended) observed.fact = engine::BatchJobRemoved{job->job.uid};
        return observed;
      },
      Removal<engine::BatchJobRemoved, cluster::JobUid>,
      Removal<engine::BatchJobRemoved, cluster::JobUid>};
}

Resource PodGroupResource(const std::string& api_version) {
  const std::string group = api_version.substr(0, api_version.find('/'));
  const std::string resource(ResourceOfPodGroups(group));
  return {resource + "." + group,
          "/apis/" + api_version + "/" + resource,
          KindOfPodGroups(group),
          PodGroupFields(),
          [api_version](const KeptObject& object) {
            return Namespaced(DecodePodGroup(object.node(), api_version, object.With({})));
          },
          Removal<engine::PodGroupRemoved, cluster::PodGroupUid>,
          Removal<engine::PodGroupUnserved, cluster::PodGroupUid>,
          Removal<engine::PodGroupUnserved, cluster::PodGroupUid>};
}

}  // namespace muster::kube
