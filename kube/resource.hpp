// Resource: one kind of object as the API server serves it, and how its objects become facts.
// Plain values; the functions are pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/result.hpp"
#include "engine/facts.hpp"
#include "kube/json_sieve.hpp"
#include "kube/kept_object.hpp"

namespace muster::kube {

// An object that was read.
struct Observed {
  std::string uid;
  std::string name;  // "namespace/name", or "name" where there are no namespaces
  engine::Fact fact;
  std::vector<std::string> warnings;  // what of it was ignored, each with its place
};

struct Resource {
  std::string name;              // for people: "pods", "podgangs.scheduler.grove.io"
  std::string path;              // "/api/v1/pods"
  std::string_view kind;         // of one object, for errors
  std::span<const Kept> fields;  // what of an object is used
  // An error: the object cannot be identified, or is none of this kind.
  std::function<cluster::Result<Observed>(const KeptObject& object)> decode;
  std::function<engine::Fact(const std::string& uid)> removed;
  // The resource is not served any more; the object may come back. Null: every API server serves
  // it, and who says otherwise is none.
  std::function<engine::Fact(const std::string& uid)> unserved = nullptr;
  // It is missing from a list, and nobody saw it go; null: `removed` says it.
  std::function<engine::Fact(const std::string& uid)> missing = nullptr;
};

Resource NodeResource();
Resource PodResource();
Resource NamespaceResource();
Resource PriorityClassResource();
Resource DisruptionBudgetResource();
Resource BatchJobResource();  // a Job that has ended is as good as gone
// `api_version` as in "scheduling.x-k8s.io/v1alpha1".
Resource PodGroupResource(const std::string& api_version);

}  // namespace muster::kube
