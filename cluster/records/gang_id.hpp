// GangId: the name of a gang. Plain value.
#pragma once

#include <compare>

#include "cluster/base/ids.hpp"

namespace muster::cluster {

// A gang is the pods of one PodGroup, or one pod without a PodGroup (`solo`).
struct GangId {
  ObjectKey key;
  bool solo = false;
  auto operator<=>(const GangId&) const = default;
};

}  // namespace muster::cluster
