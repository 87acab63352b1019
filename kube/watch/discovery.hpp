// Discovery: which version an API server has, which flavours of PodGroup it serves, and which kinds
// beside them that Muster reads where they are served. A caller polls, for CRDs come and go while
// Muster runs. Reads only, in Lane::kList; any thread.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/decode/optional_kinds.hpp"
#include "kube/dialects/pod_group_flavours.hpp"

namespace muster::kube {

struct ServerVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ServerVersion&) const = default;
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
