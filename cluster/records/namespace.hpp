// Namespace: to whom pods and PodGroups belong. Plain value, built by the decoders.
#pragma once

#include <cstdint>

#include "cluster/base/ids.hpp"
#include "cluster/records/selector.hpp"

namespace muster::cluster {

struct Namespace {
  NamespaceUid uid;
  ObjectKey key;  // without a namespace of its own
  Labels labels;
  bool deleting = false;  // all that is in it goes too
  int64_t resource_version = 0;
  auto operator<=>(const Namespace&) const = default;
};

}  // namespace muster::cluster
