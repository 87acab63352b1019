// KnownShapes: what is known of gangs by what they ask for, so that gangs that ask for the same are
// not planned in vain one after the other (internal to engine/). What did not fit holds until the
// pass is over, and as long as nothing became free. Owned and guarded by Scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "engine/gang.hpp"

namespace muster::engine {

class KnownShapes {
 public:
  // A pass begins. True: something became free since the last one that this was asked for, or
  // `anew` is; then nothing is known to fail.
  bool Begin(uint64_t growth, bool anew) {
    const bool grown = anew || growth_ != growth;
    if (grown) failed_.clear();
    growth_ = growth;
    return grown;
  }
  bool Grown(uint64_t growth) const { return growth_ != growth; }

  // Null: not known to fail. `below`: PlanJob::preempts_below.
  const Reason* Failed(const Shape& shape, int64_t below) const {
    const auto found = failed_.find({shape, below});
    return found == failed_.end() ? nullptr : &found->second;
  }
  void Fail(const Shape& shape, int64_t below, const Reason& why) { failed_[{shape, below}] = why; }
  void ForgetFailures() { failed_.clear(); }

 private:
  std::map<std::pair<Shape, int64_t>, Reason> failed_;
  uint64_t growth_ = 0;  // ClusterState::growth() when the last pass began
};

}  // namespace muster::engine
