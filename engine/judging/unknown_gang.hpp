// UnknownGang: what helps people who ask for a gang that does not exist (internal to engine/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/records/gang_id.hpp"

namespace muster::engine {

struct KnownState;

// What there is that its name could have meant.
struct LikeGang {
  std::vector<std::string> names;             // of gangs of its namespace
  std::vector<cluster::ObjectKey> of_owner;   // gangs without PodGroup whose owner has that name
  std::vector<cluster::ObjectKey> elsewhere;  // gangs of its name in other namespaces
};

// Looks at some gangs more, after `last`; true when these were the last ones.
bool CollectLike(const KnownState& state, const cluster::ObjectKey& asked,
                 std::optional<cluster::GangId>& last, LikeGang& like);

// What pods there are of that name, or that name such a PodGroup: "; 2 pods that name its PodGroup
// have schedulerName default-scheduler, Muster's is muster", "; pod a/x-0 is a member of gang a/x";
// or nothing.
std::string PodsText(const KnownState& state, const cluster::ObjectKey& asked);

// What pods of that PodGroup name a scheduler that is not Muster's: "4 pods of this group name the
// scheduler default-scheduler, not muster: set schedulerName"; empty: none does, or Muster has a
// part in the gang.
std::string OtherSchedulersText(const KnownState& state, const cluster::ObjectKey& group);

// "; did you mean gang team-a/train?", or nothing.
std::string LikeText(const cluster::ObjectKey& asked, const LikeGang& like);

}  // namespace muster::engine
