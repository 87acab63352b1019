// Discovery: which version an API server has, which flavours of PodGroup it serves, and which kinds
// beside them that Muster reads where they are served. A caller polls, for CRDs come and go while
// Muster runs. Reads only, in Lane::kList; any thread.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/result.hpp"
#include "kube/api_caller.hpp"
#include "kube/optional_kinds.hpp"

namespace muster::kube {

struct ServerVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ServerVersion&) const = default;
};

enum class PodGroupFlavour {
  kNative,            // scheduling.k8s.io v1beta1, v1alpha3, v1alpha2
  kSchedulerPlugins,  // scheduling.x-k8s.io v1alpha1
  kVolcano,           // scheduling.volcano.sh v1beta1
  kKai,               // scheduling.run.ai v2alpha2
  kGrove,             // scheduler.grove.io v1alpha1: PodGangs
};

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

struct ServedKind {
  OptionalKind kind = OptionalKind::kNodeResourceTopologies;
  std::string api_version;
  auto operator<=>(const ServedKind&) const = default;
};

struct Discovery {
  // What the server would not say whether it serves it (its group is served by an API server behind
  // this one, which is down): nothing changes for who knew it before.
  struct Unknown {
    std::string what;  // "PodGroups of volcano", "noderesourcetopologies.topology.node.k8s.io"
    cluster::Error why;
  };
  std::vector<ServedPodGroups> podgroups;  // at most one of a flavour, in their order
  std::vector<ServedKind> others;          // likewise
  std::vector<Unknown> unknown;
};

// Errors are those of ApiCaller and of ErrorOf (refusal.hpp); kInternal: the answer makes no sense.
cluster::Result<ServerVersion> DiscoverVersion(ApiCaller& api);
cluster::Result<Discovery> DiscoverKinds(ApiCaller& api);

}  // namespace muster::kube
