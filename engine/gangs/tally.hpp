// Tally: how many members of a gang are what (internal to engine/). Counted by SettleMembers
// (engine/judging/settle_members.hpp) whenever the gang is judged. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/units.hpp"

namespace muster::engine {

// Members of one role that are there, by what they still need to run.
struct RoleTally {
  int64_t bound = 0;    // or have succeeded
  int64_t pending = 0;  // as in Tally, and so is this:
  int64_t planned = 0;
  int64_t others = 0;  // not bound and not pending, but well-formed
};

// `pending`: Muster's, live, not bound, free of other controllers' gates, well-formed, with volumes
// that are ready, and not pausing. Members of an earlier run of the gang are left out, but for
// `of_muster` and `victims`.
struct Tally {
  int64_t bound = 0;
  int64_t bound_of_muster = 0;  // of these, Muster's
  int64_t others_pending = 0;   // not bound, and another scheduler's to place
  int64_t of_muster = 0;        // Muster's, whatever became of them
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t pending = 0;
  int64_t gated_by_others = 0;
  int64_t awaits_volumes = 0;  // as pending, but for their volumes
  int64_t malformed = 0;       // beside members that are bound: they are left out
  int64_t pausing = 0;         // as pending, but for their pause
  int64_t planned = 0;         // pending ones with a plan
  int64_t leaving = 0;         // Muster's, bound and being deleted or evicted
  int64_t going = 0;           // of these, on nodes that work: they will be gone
  int64_t victims = 0;         // victims of another gang
  int64_t staying = 0;         // bound, Muster's and nobody's victim
  int64_t of_earlier_run = 0;
  // Of bound ones that leave and whose node works, whose ever: when the last one's grace is over.
  cluster::Time leave_by;
  // By role, which may be empty; of those that are there.
  std::vector<std::pair<std::string, RoleTally>> roles;
  int64_t present() const {
    return bound + pending + pausing + malformed + gated_by_others + awaits_volumes +
           others_pending;
  }
};

}  // namespace muster::engine
