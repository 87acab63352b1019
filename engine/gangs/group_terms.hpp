// GroupTerms: what a gang's PodGroup, or its pods, say beside its size, as it counts now: priority
// by the PriorityClasses that are known, whether it goes whole, and what is written and has no
// effect (internal to engine/). A plain value, part of Gang; set while the gang is settled.
//
// 1. The PodGroup's own value counts, else its class, else the lowest of its pods' labels.
// 2. It counts for every member, whatever the pods say. An operator's order takes precedence, and
//    the cap of the queue holds in any case.
// 3. An unknown class changes nothing and is reported in `not_honoured`, beside the fields of
//    PodGroup, owner and pods that are meant for other systems and that Muster does not follow. All
//    gangs are settled again when a PriorityClass or the policy changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::engine {

struct GroupTerms {
  std::optional<int32_t> priority;        // nothing: what its pods say
  std::optional<bool> preempts;           // likewise
  bool whole = false;                     // none of its pods is evicted without the others
  std::vector<std::string> not_honoured;  // for people
  bool operator==(const GroupTerms&) const = default;
};

}  // namespace muster::engine
