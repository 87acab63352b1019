// Since when a gang is bound in part: what partialTimeout runs from (internal to engine/).
#pragma once

#include "cluster/base/units.hpp"
#include "cluster/records/pod_group.hpp"
#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

// `since` as API objects tell it to a Muster that just came: a gang whose time ran out while nobody
// was there has a moment to be completed. Not after `now`: who wrote it may have a clock that is
// ahead.
cluster::Time OnReturn(cluster::Time since, cluster::Duration timeout, cluster::Time now);

// Sets partial_since and in_grace in `course`, of a gang of which some members are bound. It is not
// partial before the grace is over that leaving members have.
void FollowPartial(const Gang& gang, Course& course, cluster::Duration timeout, cluster::Time now);

// Some of it runs since it had its minimum, and the others stay when members are lost
// (PodGroup::keeps_rest).
bool KeepsRest(const Gang& gang, const cluster::PodGroup* group);
// Some of it runs since it had its minimum: members that were lost come back one by one. Not before
// it has had those that it did not begin with, too (PodGroup::starts_with).
bool ComesBackOneByOne(const Gang& gang, const cluster::PodGroup* group);
// It has run, and nobody has made a pod in the place of a member that was lost.
bool AwaitsController(const Gang& gang, const cluster::PodGroup* group);
// How long it may be bound in part: the policy's partialTimeout; where it awaits a controller, as
// long as Kubernetes' Job controller may take, if that is more. The time begins anew when the pod
// is there.
cluster::Duration PartialTimeout(const Gang& gang, const cluster::PodGroup* group,
                                 const Options& options);

}  // namespace muster::engine
