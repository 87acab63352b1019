#include "kube/dialects/pod_group_link.hpp"

#include <initializer_list>

#include "kube/dialects/koordinator_gang.hpp"

namespace muster::kube {

namespace {

constexpr const char* kKueueGroup = "kueue.x-k8s.io/pod-group-name";
constexpr const char* kKueueServing = "kueue.x-k8s.io/pod-group-serving";

}  // namespace

std::string ReadPodGroupLink(const JsonView& spec, const JsonView& labels,
                             const JsonView& annotations) {
  const JsonView group = spec.Get("schedulingGroup");
  std::string name(group.Get("podGroupName").Text());
  const auto take = [&](const JsonView& texts, const char* key) {
    if (name.empty()) name = texts.Get(key).Text();
  };
  for (const char* key :
       {"scheduling.x-k8s.io/pod-group", "scheduling.k8s.io/pod-group",
        "pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name"}) {
    take(labels, key);
  }
  if (annotations.Get(kKueueServing).Text() != "true") take(labels, kKueueGroup);
  take(labels, "grove.io/podgang");
  for (const char* key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name",
                          "pod-group-name", kKoordinatorGang}) {
    take(annotations, key);
  }
  return name;
}

}  // namespace muster::kube
