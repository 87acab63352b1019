// Story: which jobs come to a simulated cluster and how long they stay, whatever rule places them.
// The same seed tells the same story.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/fabric_site.hpp"

namespace muster::bench {

struct Load {
  double settled =
      0.7;             // share of the GPUs that single pods hold at the start, and then on average
  double gangs = 0.2;  // share that gangs would hold on average if all found room
  int steps = 1000;    // one gang comes in each
  int singles = 10;    // pods that come in each
};

struct Settled {
  Job job;
  int node = 0;
};

struct Step {
  std::vector<Job> singles;
  Job gang;
};

struct Story {
  // Names have nothing to do with places: the node that is the i-th by name is by_name[i] of Site.
  std::vector<int> by_name;
  std::vector<Settled> settled;
  std::vector<Step> steps;
  std::vector<Job> rest;  // gangs that come when nobody leaves any more
  int jobs = 0;           // ids are below
};

// Racks are full to different degrees at the start. Single pods have 1, 2, 4 or 8 GPUs, gangs 2 to
// 256 members with as many each (shares in fabric_story.cpp). All stay for times that are
// distributed exponentially.
Story Tell(const Site& site, const Load& load, uint64_t seed);

}  // namespace muster::bench
