// KubernetesFields: the fields of Kubernetes objects, and what of an object an API server would
// refuse or drop: fields that nobody knows, numbers where text is due and the like.
//
//   const KubernetesFields fields(kube::WrongResource);
//   for (const cluster::Error& fault : fields.FaultsOf(document.source()))
//     … document.Locate(fault);         // job.yaml:9:7: spec.template.spec.contaniers: unknown …
//
// What it knows is in config/kubernetes/ (README.md). Of a kind that is not there it looks at the
// metadata, and at every pod template and object of a known kind inside. Immutable once built; any
// thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/yaml/yaml_tree.hpp"

namespace muster::config {

class KubernetesFields {
 public:
  // What is wrong with the name of a resource; empty: nothing.
  using ResourceRule = std::string (*)(std::string_view name);

  explicit KubernetesFields(ResourceRule wrong_resource);

  // Whether all fields of objects of this kind are known.
  bool Knows(const YamlNode& object) const;
  // In the order of the object, each with its path in it ("spec.containers[0].image") as its place.
  std::vector<cluster::Error> FaultsOf(const YamlNode& object) const;

 private:
  class Check;

  const ResourceRule wrong_resource_;
  std::vector<YamlNode> files_;                                // what the maps point into
  std::map<std::string, std::string, std::less<>> kinds_;      // "batch/v1/Job": its type
  std::map<std::string, const YamlNode*, std::less<>> types_;  // the fields of each
};

}  // namespace muster::config
