// StillWaiting: why gangs had not started when a replay ended, in Muster's words. Pure functions.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "engine/contract/gang_view.hpp"

namespace muster::sim {

struct WaitingRow {
  std::string code;    // engine::ReasonCode
  bool never = false;  // nothing that other gangs do would change it
  int64_t gangs = 0;
  std::string gang;  // one of them
  std::string why;   // what Muster says of that one
};

// Most gangs first. Those that hold nothing and are not over.
std::vector<WaitingRow> StillWaiting(const std::vector<engine::GangView>& gangs);
// The pods of gangs that Muster refuses.
std::set<cluster::ObjectKey> RefusedPods(const std::vector<engine::GangView>& gangs);

}  // namespace muster::sim
