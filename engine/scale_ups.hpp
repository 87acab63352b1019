// ScaleUps: for which gangs nodes are asked for (internal to engine/). Only records; scale_up.hpp
// decides. Guarded by Scheduler.
//
// 1. A gang that is asked for waits for a plan and lacks room. Its pods have no gate of Muster's,
// or
//    a ProvisioningRequest asks for them (node_requests.hpp).
// 2. What those gangs ask for counts as used when it is decided about the next one, so that all of
//    them together stay within the limits of their queues.
// 3. Those that had to stay away because of others are looked at again when one of these goes.
//
// A restart forgets it: a gang whose pods were released is asked for again when it has been tried.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "cluster/gang_id.hpp"
#include "cluster/usage.hpp"

namespace muster::engine {

class ScaleUps {
 public:
  struct Ask {
    std::string queue;
    cluster::Usage asks;
  };
  // False: it was there, and is now with this.
  bool Begin(const cluster::GangId& gang, Ask ask) {
    held_.erase(gang);
    return all_.insert_or_assign(gang, std::move(ask)).second;
  }
  // It stays away because of what the others ask for.
  void Hold(const cluster::GangId& gang) { held_.insert(gang); }
  // Those to be looked at again, where it was asked for.
  std::set<cluster::GangId> End(const cluster::GangId& gang) {
    held_.erase(gang);
    if (all_.erase(gang) == 0) return {};
    return std::exchange(held_, {});
  }
  bool Has(const cluster::GangId& gang) const { return all_.contains(gang); }
  const std::map<cluster::GangId, Ask>& all() const { return all_; }

 private:
  std::map<cluster::GangId, Ask> all_;
  std::set<cluster::GangId> held_;
};

}  // namespace muster::engine
