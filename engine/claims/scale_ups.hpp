// ScaleUps: for which gangs nodes are asked for (internal to engine/). Only records;
// engine/claims/scale_up.hpp decides. Guarded by Scheduler.
//
// 1. A gang that is asked for waits for a plan and lacks room. Its pods have no gate of Muster's,
//    or a ProvisioningRequest asks for them (engine/claims/node_requests.hpp).
// 2. What those gangs ask for counts as used when it is decided about the next one, so that all of
//    them together stay within the limits of their queues.
// 3. Those that had to stay away because of others are looked at again when one of these goes.
// 4. How long a gang has lacked room counts from the try that found so, and anew where something
//    else kept it from starting meanwhile.
//
// A restart forgets it: a gang whose pods were released is asked for again when it has been tried.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cluster/base/units.hpp"
#include "cluster/holdings/usage.hpp"
#include "cluster/records/gang_id.hpp"

namespace muster::engine {

class ScaleUps {
 public:
  static constexpr cluster::Duration kCheckAgain = cluster::Seconds(30);

  struct Ask {
    std::string queue;
    cluster::Usage asks;
    uint64_t number = 0;         // in the order in which they began
    cluster::Time checked = {};  // when it was held against the limits of its queues last
  };
  // False: it was there, and is now with this.
  bool Begin(const cluster::GangId& gang, Ask ask) {
    held_.erase(gang);
    const auto [at, fresh] = all_.try_emplace(gang);
    ask.number = fresh ? ++last_ : at->second.number;
    if (!fresh) ask.checked = at->second.checked;
    at->second = std::move(ask);
    return fresh;
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
  // It was asked for in another queue than this one.
  bool HasLeft(const cluster::GangId& gang, const std::string& queue) const {
    const auto at = all_.find(gang);
    return at != all_.end() && at->second.queue != queue;
  }
  // When it is to be held against the limits of its queues; 0: at once, also because it asks for
  // something else than last time.
  cluster::Time CheckAt(const cluster::GangId& gang, const cluster::Usage& asks) const {
    const auto at = all_.find(gang);
    const bool same = at != all_.end() && at->second.asks == asks;
    return same ? at->second.checked + kCheckAgain : cluster::Time(0);
  }
  void Checked(const cluster::GangId& gang, cluster::Time now) {
    const auto at = all_.find(gang);
    if (at != all_.end()) at->second.checked = now;
  }
  // 0: it is not asked for.
  uint64_t NumberOf(const cluster::GangId& gang) const {
    const auto at = all_.find(gang);
    return at == all_.end() ? 0 : at->second.number;
  }
  const std::map<cluster::GangId, Ask>& all() const { return all_; }

  // It counts from now on.
  void LacksAnew(const cluster::GangId& gang, cluster::Time now) { lack_since_[gang] = now; }
  void Lacks(const cluster::GangId& gang, cluster::Time now) { lack_since_.try_emplace(gang, now); }
  void LacksNothing(const cluster::GangId& gang) { lack_since_.erase(gang); }
  std::optional<cluster::Time> LacksSince(const cluster::GangId& gang) const {
    const auto at = lack_since_.find(gang);
    return at == lack_since_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::map<cluster::GangId, Ask> all_;
  std::set<cluster::GangId> held_;
  std::map<cluster::GangId, cluster::Time> lack_since_;
  uint64_t last_ = 0;
};

}  // namespace muster::engine
