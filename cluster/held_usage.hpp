// HeldUsage: what is held on a node, without the models of its devices. Pure.
#pragma once

#include "cluster/usage.hpp"

namespace muster::cluster {

// As Usage::Add, but nothing by model: no device's name is looked at, of tens of thousands.
void AddBesideModels(Usage& usage, const Placement& held, const Node& node);

}  // namespace muster::cluster
