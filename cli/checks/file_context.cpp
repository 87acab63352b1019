#include "cli/checks/file_context.hpp"

#include <algorithm>
#include <vector>

#include "cli/checks/yaml_path.hpp"
#include "config/documents/manifest.hpp"
#include "engine/contract/options.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::cli {

using config::YamlNode;

void AddToContext(FileContext& context, const YamlNode& object) {
  const YamlNode* metadata = Given(object, "metadata");
  if (metadata == nullptr) return;
  const std::string kind = object.TextAt("kind");
  const std::string name = metadata->TextAt("name");
  if (kind == "PriorityClass") context.classes.insert(name);
  const YamlNode* labels = Given(*metadata, "labels");
  if (kind == "Namespace" && labels != nullptr)
    context.taken[name] = kube::TakenPodsOf(labels->TextAt(kube::kScheduleLabel));
}

kube::TakenPods TakenOf(const FileContext& context, const YamlNode& object) {
  const YamlNode* metadata = Given(object, "metadata");
  const std::string ns = metadata == nullptr ? std::string() : metadata->TextAt("namespace");
  const auto found = context.taken.find(ns.empty() ? "default" : ns);
  return found == context.taken.end() ? kube::TakenPods::kNone : found->second;
}

bool IsMusters(const std::string& pod_json, const std::string& scheduler, kube::TakenPods taken) {
  const std::vector<std::string> ours = engine::Options().scheduler_names;
  if (std::find(ours.begin(), ours.end(), scheduler) != ours.end()) return true;
  if (taken == kube::TakenPods::kNone) return false;
  const auto pod = kube::Json::Parse(pod_json, config::kMaxManifestBytes, "");
  if (!pod.ok()) return false;
  kube::JsonProblems ignored;
  const kube::AdmissionRules rules{
      .taken = taken, .scheduler_name = ours.front(), .own_namespace = {}};
  return !kube::PatchOf(kube::JsonView(pod->root(), "pod", ignored), rules).empty();
}

}  // namespace muster::cli
