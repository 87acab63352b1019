// The flavours of PodGroup: what each is called, and one as an API server serves it. Constants and
// plain values.
#pragma once

#include <array>
#include <compare>
#include <span>
#include <string>
#include <string_view>

namespace muster::kube {

enum class PodGroupFlavour {
  kNative,            // scheduling.k8s.io v1beta1, v1alpha3, v1alpha2
  kSchedulerPlugins,  // scheduling.x-k8s.io v1alpha1
  kVolcano,           // scheduling.volcano.sh v1beta1
  kKai,               // scheduling.run.ai v2alpha2
  kGrove,             // scheduler.grove.io v1alpha1: PodGangs
};

struct PodGroupFlavourNames {
  PodGroupFlavour flavour;
  std::string_view name;  // "volcano"
  std::string_view group;
  std::array<std::string_view, 3> versions;  // best first, then empty ones
};

// All of them, in their order.
std::span<const PodGroupFlavourNames> PodGroupFlavours();
const char* ToString(PodGroupFlavour flavour);
// What an API group calls its PodGroups in paths: "podgroups", Grove's "podgangs".
std::string_view ResourceOfPodGroups(std::string_view group);
std::string_view KindOfPodGroups(std::string_view group);  // "PodGroup", Grove's "PodGang"

// One flavour as this server serves it.
struct ServedPodGroups {
  PodGroupFlavour flavour = PodGroupFlavour::kNative;
  std::string group;
  std::string version;
  bool has_status = false;  // there is a status subresource, to which status must be written

  std::string api_version() const { return group + "/" + version; }
  // "/apis/scheduling.volcano.sh/v1beta1"; resources are below it.
  std::string path() const { return "/apis/" + api_version(); }
  std::string_view resource() const { return ResourceOfPodGroups(group); }
  auto operator<=>(const ServedPodGroups&) const = default;
};

}  // namespace muster::kube
