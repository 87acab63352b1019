// Since when a gang is bound in part: what partialTimeout runs from (internal to engine/).
#pragma once

#include "cluster/units.hpp"
#include "engine/gang.hpp"

namespace muster::engine {

// `since` as API objects tell it to a Muster that just came: a gang whose time ran out while nobody
// was there has a moment to be completed. Not after `now`: who wrote it may have a clock that is
// ahead.
cluster::Time OnReturn(cluster::Time since, cluster::Duration timeout, cluster::Time now);

// Sets Gang::partial_since of a gang of which some members are bound. It is not before the end of
// the grace that members have who are leaving.
void FollowPartial(Gang& gang, cluster::Duration timeout, cluster::Time now);

}  // namespace muster::engine
