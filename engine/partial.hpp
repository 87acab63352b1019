// Since when a gang is bound in part: what partialTimeout runs from (internal to engine/).
#pragma once

#include "cluster/pod_group.hpp"
#include "cluster/units.hpp"
#include "engine/gang.hpp"

namespace muster::engine {

// `since` as API objects tell it to a Muster that just came: a gang whose time ran out while nobody
// was there has a moment to be completed. Not after `now`: who wrote it may have a clock that is
// ahead.
cluster::Time OnReturn(cluster::Time since, cluster::Duration timeout, cluster::Time now);

// Sets partial_since and in_grace in `course`, of a gang of which some members are bound. It is not
// partial before the grace is over that leaving members have.
void FollowPartial(const Gang& gang, Course& course, cluster::Duration timeout, cluster::Time now);

// It has run, and the others stay when members are lost (PodGroup::keeps_rest).
bool KeepsRest(const Gang& gang, const cluster::PodGroup* group);
// It has run, and nobody has made a pod in the place of a member that was lost: whoever makes the
// gang's pods knows when that is due, if ever. No time passes then.
bool AwaitsController(const Gang& gang, const cluster::PodGroup* group);

}  // namespace muster::engine
