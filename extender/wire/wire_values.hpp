// What messages of the extender protocol carry in both directions. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"

namespace muster::extender {

// How nodes travel: kNames when the extender is configured nodeCacheCapable, else kObjects.
enum class NodesForm { kNames, kObjects };

struct Victims {
  std::vector<cluster::PodUid> pods;
  int64_t pdb_violations = 0;
  auto operator<=>(const Victims&) const = default;
};
using VictimsByNode = std::map<std::string, Victims>;

}  // namespace muster::extender
