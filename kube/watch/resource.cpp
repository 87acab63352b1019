#include "kube/watch/resource.hpp"

#include <memory>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/dialects/pod_group_flavours.hpp"
#include "kube/owners/grouping_book.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

Result<Observed> ObserveNode(const KeptObject& object) {
  Result<DecodedNode> node = DecodeNode(object.node(), object.With({}));
  if (!node.ok()) return node.error();
  Observed observed{node->node.uid.text(), node->node.name, {}, std::move(node->warnings)};
  if (node->says_numa_policy) {
    observed.news = NodeOfOwnPolicy{std::move(node->node)};
  } else {
    observed.news = engine::Fact(std::move(node->node));
  }
  return observed;
}

// Of kinds whose records have no word for it.
std::vector<std::string> LeftOut(const KeptObject& object) {
  if (object.left_out() == nullptr) return {};
  return {object.left_out()->ToString()};
}

template <typename Record>
Result<Observed> Namespaced(Result<Record> record, std::vector<std::string> warnings = {}) {
  if (!record.ok()) return record.error();
  return Observed{record->uid.text(), record->key.ToString(), engine::Fact(*std::move(record)),
                  std::move(warnings)};
}

template <typename Record>
Result<Observed> ClusterWide(Result<Record> record, std::vector<std::string> warnings) {
  if (!record.ok()) return record.error();
  return Observed{record->uid.text(), record->key.name, engine::Fact(*std::move(record)),
                  std::move(warnings)};
}

Result<Observed> ObservePod(const KeptObject& object) {
  Result<cluster::Pod> pod = DecodePod(object.node(), object.With({}));
  if (!pod.ok()) return pod.error();
  Observed observed{pod->uid.text(), pod->key.ToString(), {}, {}};
  std::vector<std::string> templates = ReadClaimTemplates(object.node());
  std::string text = GroupingText(object.node(), *pod);
  if (!text.empty()) {
    observed.news = PodOfOwners{*std::move(pod), std::move(templates),
                                std::make_shared<const std::string>(std::move(text))};
  } else if (templates.empty()) {
    observed.news = engine::Fact(*std::move(pod));
  } else {
    observed.news = PodOfClaims{*std::move(pod), std::move(templates)};
  }
  return observed;
}

template <typename Removed, typename Uid>
News Removal(const std::string& uid) {
  return engine::Fact(Removed{Uid(uid)});
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
            return engine::Fact(engine::PodRemoved{cluster::PodUid(uid), true});
          }};
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

Resource ResourceQuotaResource() {
  return {"resourcequotas",
          "/api/v1/resourcequotas",
          "ResourceQuota",
          ResourceQuotaFields(),
          [](const KeptObject& object) {
            return Namespaced(DecodeResourceQuota(object.node(), object.With({})), LeftOut(object));
          },
          Removal<engine::ResourceQuotaRemoved, cluster::ResourceQuotaUid>,
          Removal<engine::ResourceQuotaRemoved, cluster::ResourceQuotaUid>};
}

Resource BatchJobResource() {
  return {"jobs",
          "/apis/batch/v1/jobs",
          "Job",
          BatchJobFields(),
          [](const KeptObject& object) -> Result<Observed> {
            const Result<DecodedBatchJob> job = DecodeBatchJob(object.node());
            if (!job.ok()) return job.error();
            Observed observed{job->job.uid.text(), job->job.key.ToString(), engine::Fact(job->job),
                              LeftOut(object)};
            if (job->ended) observed.news = engine::Fact(engine::BatchJobRemoved{job->job.uid});
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

Resource NodeTopologyResource(const std::string& api_version) {
  const auto removed = [](const std::string& uid) { return NodeTopologyRemoved{uid}; };
  return {"noderesourcetopologies.topology.node.k8s.io",
          "/apis/" + api_version + "/noderesourcetopologies",
          "NodeResourceTopology",
          NodeTopologyFields(),
          [](const KeptObject& object) -> Result<Observed> {
            Result<DecodedNodeTopology> decoded = DecodeNodeTopology(object.node());
            if (!decoded.ok()) return decoded.error();
            std::vector<std::string> warnings = LeftOut(object);
            for (const cluster::Error& unknown : decoded->ignored) {
              warnings.push_back("the NUMA policy is not known and counts as none: " +
                                 unknown.ToString());
            }
            return Observed{decoded->topology.uid, decoded->topology.node, decoded->topology,
                            std::move(warnings)};
          },
          removed,
          removed};
}

Resource ResourceSliceResource(const std::string& api_version) {
  const auto removed = [](const std::string& uid) { return ResourceSliceRemoved{uid}; };
  return {"resourceslices.resource.k8s.io",
          "/apis/" + api_version + "/resourceslices",
          "ResourceSlice",
          ResourceSliceFields(),
          [](const KeptObject& object) -> Result<Observed> {
            Result<DecodedResourceSlice> decoded = DecodeResourceSlice(object.node());
            if (!decoded.ok()) return decoded.error();
            std::vector<std::string> warnings = LeftOut(object);
            decoded->slice.whole = warnings.empty();
            for (const cluster::Error& odd : decoded->ignored) {
              warnings.push_back("the PCI address is ignored: " + odd.ToString());
            }
            return Observed{decoded->slice.uid, decoded->name, decoded->slice, std::move(warnings)};
          },
          removed,
          removed,
          nullptr,
          "fieldSelector=spec.driver%3Dgpu.nvidia.com"};
}

Resource ComputeDomainResource(const std::string& api_version) {
  const auto removed = [](const std::string& uid) { return ComputeDomainRemoved{uid}; };
  return {"computedomains.resource.nvidia.com",
          "/apis/" + api_version + "/computedomains",
          "ComputeDomain",
          ComputeDomainFields(),
          [](const KeptObject& object) -> Result<Observed> {
            const Result<DecodedComputeDomain> decoded = DecodeComputeDomain(object.node());
            if (!decoded.ok()) return decoded.error();
            return Observed{decoded->domain.uid, decoded->key.ToString(), decoded->domain,
                            LeftOut(object)};
          },
          removed,
          removed};
}

Resource ProvisioningRequestResource(const std::string& api_version) {
  const auto removed = Removal<engine::ProvisioningRequestRemoved, cluster::ProvisioningRequestUid>;
  return {"provisioningrequests.autoscaling.x-k8s.io",
          "/apis/" + api_version + "/provisioningrequests",
          "ProvisioningRequest",
          ProvisioningRequestFields(),
          [](const KeptObject& object) {
            return Namespaced(DecodeProvisioningRequest(object.node()), LeftOut(object));
          },
          removed,
          removed,
          nullptr,
          "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dmuster"};
}

}  // namespace muster::kube
