// The rule for the admission policy that guards Muster's names on pods (manifests/admission/guard).
#pragma once

#include <vector>

#include "tests/house/source_tree.hpp"

namespace muster::house {

// 1. Every name "muster.dev/…" in the code of cluster/ and kube/ is an annotation that the guard
//    lets people write on pods, or it is one of those in guard_rules.cpp that they do not write
//    there. A new name thus fails until somebody decides which of the two it is.
// 2. The guard allows no name that the code does not know.
std::vector<Finding> CheckGuard(const SourceTree& tree);

}  // namespace muster::house
