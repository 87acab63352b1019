// MostPods: how many equal pods a cluster has room for, found by trying everything.
#pragma once

#include "cluster/records/pod.hpp"
#include "tests/policy/world.hpp"

namespace muster::testing {

int MostPods(const World& world, const cluster::PodSpec& spec);

}  // namespace muster::testing
