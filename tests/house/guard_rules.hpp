// The rules for the names that begin with muster.dev/: the admission policy that guards them on
// pods (manifests/admission/guard), and the list of them.
#pragma once

#include <vector>

#include "tests/house/source_tree.hpp"

namespace muster::house {

// 1. Every name "muster.dev/…" in the code of cluster/ and kube/ is an annotation that the guard
//    lets people write on pods, or it is one of those in guard_rules.cpp that they do not write
//    there. A new name thus fails until somebody decides which of the two it is.
// 2. The guard allows no name that the code does not know.
// 3. It covers every API group that a grouping rule names: there are the owners of pods.
std::vector<Finding> CheckGuard(const SourceTree& tree);

// Each of these names, but for those of Events, has a constant that kube/admission/muster_keys.cpp
// lists.
std::vector<Finding> CheckMusterKeys(const SourceTree& tree);

}  // namespace muster::house
