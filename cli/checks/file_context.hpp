// FileContext: what a file has beside an object and its pods depend on. A plain value and pure
// functions.
#pragma once

#include <map>
#include <set>
#include <string>

#include "config/yaml/yaml_tree.hpp"
#include "kube/admission/admission_review.hpp"

namespace muster::cli {

struct FileContext {
  // By the labels of Namespaces.
  std::map<std::string, kube::TakenPods> taken;
  // PriorityClasses.
  std::set<std::string> classes = {"system-cluster-critical", "system-node-critical"};
};

void AddToContext(FileContext& context, const config::YamlNode& object);

// Which pods of the object its namespace gives to Muster.
kube::TakenPods TakenOf(const FileContext& context, const config::YamlNode& object);

// Whether Muster plans the pod: it names Muster's scheduler, or the webhook would take it.
// `pod_json`: as the webhook sees it. `scheduler`: of the pod, where something beside it says so.
bool IsMusters(const std::string& pod_json, const std::string& scheduler, kube::TakenPods taken);

}  // namespace muster::cli
