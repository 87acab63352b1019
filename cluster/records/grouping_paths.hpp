// EachPath: every path that a grouping rule reads. Pure, any thread.
#pragma once

#include <functional>

#include "cluster/records/grouping_rule.hpp"

namespace muster::cluster {

// visit(path, each): `each` is the list or map whose elements an `item` of this path is; kNone
// where it is none. A path to an `item` is visited with each of them.
void EachPath(const GroupingRule& rule,
              const std::function<void(const GroupingPath& path, const GroupingPath& each)>& visit);

}  // namespace muster::cluster
