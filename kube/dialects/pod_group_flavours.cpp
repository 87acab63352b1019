#include "kube/dialects/pod_group_flavours.hpp"

#include <algorithm>

namespace muster::kube {
namespace {

constexpr std::string_view kGroveGroup = "scheduler.grove.io";

constexpr std::array<PodGroupFlavourNames, 5> kFlavours = {{
    {PodGroupFlavour::kNative, "native", "scheduling.k8s.io", {"v1beta1", "v1alpha3", "v1alpha2"}},
    {PodGroupFlavour::kSchedulerPlugins,
     "scheduler-plugins",
     "scheduling.x-k8s.io",
     {"v1alpha1", "", ""}},
    {PodGroupFlavour::kVolcano, "volcano", "scheduling.volcano.sh", {"v1beta1", "", ""}},
    {PodGroupFlavour::kKai, "kai", "scheduling.run.ai", {"v2alpha2", "", ""}},
    {PodGroupFlavour::kGrove, "grove", kGroveGroup, {"v1alpha1", "", ""}},
}};

}  // namespace

std::span<const PodGroupFlavourNames> PodGroupFlavours() { return kFlavours; }

const char* ToString(PodGroupFlavour flavour) {
  const auto* found =
      std::find_if(kFlavours.begin(), kFlavours.end(),
                   [&](const PodGroupFlavourNames& names) { return names.flavour == flavour; });
  return found == kFlavours.end() ? "" : found->name.data();
}

std::string_view ResourceOfPodGroups(std::string_view group) {
  return group == kGroveGroup ? "podgangs" : "podgroups";
}

std::string_view KindOfPodGroups(std::string_view group) {
  return group == kGroveGroup ? "PodGang" : "PodGroup";
}

}  // namespace muster::kube
