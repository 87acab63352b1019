// PlaceAnswer: where the pods of a gang are placed, or why they are not (placement.hpp). A plain
// value.
#pragma once

#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "policy/terms/shortage.hpp"

namespace muster::policy {

struct PlaceAnswer {
  bool placed = false;
  std::vector<cluster::Placement> placements;  // in the order of the demands; empty unless placed
  Shortage shortage;                           // filled unless placed
};

}  // namespace muster::policy
