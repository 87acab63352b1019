// Resource: one kind of object as the API server serves it, and how its objects become news.
// Plain values; the functions are pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/decode/news.hpp"
#include "kube/json/json_sieve.hpp"

namespace muster::kube {

// An object that was read.
struct Observed {
  std::string uid;   // empty: objects are known by name, and `removed` receives `name`
  std::string name;  // "namespace/name", or "name" where there are no namespaces
  News news;
  std::vector<std::string> warnings;  // what of it was ignored, each with its place
};

struct Resource {
  std::string name;              // for people: "pods", "podgangs.scheduler.grove.io"
  std::string path;              // "/api/v1/pods"
  std::string_view kind;         // of one object, for errors
  std::span<const Kept> fields;  // what of an object is used
  // An error: the object cannot be identified, or is none of this kind.
  std::function<cluster::Result<Observed>(const KeptObject& object)> decode;
  std::function<News(const std::string& uid)> removed;
  // The resource is not served any more; the object may come back. Null: every API server serves
  // it, and who says otherwise is none.
  std::function<News(const std::string& uid)> unserved = nullptr;
  // It is missing from a list, and nobody saw it go; null: `removed` says it.
  std::function<News(const std::string& uid)> missing = nullptr;
  // Which objects are listed and watched, as a parameter of the query: "fieldSelector=…". Empty:
  // all.
  std::string selector = "";
};

Resource NodeResource();
Resource PodResource();
Resource NamespaceResource();
Resource PriorityClassResource();
Resource DisruptionBudgetResource();
Resource ResourceQuotaResource();
Resource BatchJobResource();  // a Job that has ended is as good as gone
// `api_version` as in "scheduling.x-k8s.io/v1alpha1".
Resource PodGroupResource(const std::string& api_version);
// "topology.node.k8s.io/v1alpha2" or v1alpha1.
Resource NodeTopologyResource(const std::string& api_version);
// "resource.k8s.io/v1", v1beta2 or v1beta1: those of driver gpu.nvidia.com.
Resource ResourceSliceResource(const std::string& api_version);
Resource ComputeDomainResource(const std::string& api_version);  // "resource.nvidia.com/v1beta1"
// "autoscaling.x-k8s.io/v1" or v1beta1: those that Muster made.
Resource ProvisioningRequestResource(const std::string& api_version);

}  // namespace muster::kube
