// Rule: who says on which nodes a job runs. Muster's own Placer, and the rules of other systems as
// their public documents describe them (fabric_peers.cpp). One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/fabric_site.hpp"
#include "bench/timing.hpp"
#include "policy/placing/placement.hpp"

namespace muster::bench {

// 1. Place names a node for every member, or none; what it names is free by the ledger, and the
//    caller enters it there.
// 2. Settle is called for jobs that run already, Leave for every job that was placed or settled and
//    is gone.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual Places Place(const Job& job) = 0;
  virtual void Settle(const Job& job, int node) = 0;
  virtual void Leave(const Job& job) = 0;
};

struct Setting {
  const Ledger& ledger;
  const std::vector<int>& by_name;  // Story::by_name
  uint64_t seed = 0;
};

// How long plans of one and the same gang take, in turns.
struct PairedTimes {
  bool singles = false;  // those of pods by themselves count, too
  Times with;            // by the rule
  Times without;         // by the same without fabric, and thrown away
};

// Its fabric's levels: zone, block, rack, nvlink, and `host` where nodes are to be one.
policy::Options FabricOf(bool host);
// `times`: where the times of gangs go; null: nowhere.
std::unique_ptr<Rule> MakeMuster(const Setting& setting, const policy::Options& options,
                                 PairedTimes* times);

enum class Kueue { kBestFit, kBalanced };
std::unique_ptr<Rule> MakeKueue(const Setting& setting, Kueue algorithm);

enum class Scoring { kLeastAllocated, kMostAllocated };
std::unique_ptr<Rule> MakeKubeScheduler(const Setting& setting, Scoring scoring);

}  // namespace muster::bench
