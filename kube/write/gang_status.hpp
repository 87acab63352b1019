// GangStatus: how the state of a gang reads in the status of its PodGroup, in the words of the
// flavour that the PodGroup is of. Pure: from the object as the API server has it to the patch that
// is missing, or to none.
//
// engine state    scheduler-plugins   Volcano                 KAI           native, condition
// Forming         Pending             Inqueue, Unschedulable  Pending, U.   False Unschedulable
// Queued          Pending             Inqueue, Unschedulable  Pending, U.   False Unschedulable
// Reserved        Scheduling          Inqueue                 Pending       –
// Binding         Scheduling          Inqueue                 Pending       –
// Running         Running             Running, Scheduled      Running, S.   True Scheduled
// Finished        Finished, Failed    Completed, Scheduled    Succeeded, …  True Scheduled
// Backoff         Pending, Unknown    Inqueue, Unschedulable  Pending, U.   False Unschedulable
// Degraded        Unknown, Failed     Unknown, Unschedulable  Unknown, U.   –
// Invalid         Pending             Pending, Unschedulable  Pending, U.   False SchedulerError
// Forbidden, Unsatisfiable   Pending  Pending, Unschedulable  Pending, U.   False Unschedulable
//
// With the CRD that Muster ships, scheduler-plugins' kind has the condition Scheduled as well: True
// of gangs that are Running or Finished, False with the reason's code of gangs that wait.
//
// Volcano's job controller creates pods once a PodGroup is Inqueue, so a gang that waits for its
// members is, and one that cannot start is not.
//
// Grove's PodGangs get nothing: Grove's operator writes their status from the pods' conditions.
//
// Native PodGroups have a second writer: kube-scheduler, which sets the same condition in every
// cycle of the group, but sees no gated pods. What it says stands. Muster says False only where
// nobody has spoken or it was itself (its messages begin with "muster: "), and True only where it
// is not True yet, which kube-scheduler takes for its own; True stays for ever.
//
// Messages read "<ReasonCode>: <sentence>", which also tells a later look whether only numbers in
// the sentence differ. Conditions of others are carried over as they are; the patch holds the
// resourceVersion that was read, so that a change in between makes it fail with 409.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/actions.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/dialects/pod_group_flavours.hpp"

namespace muster::kube {

struct StatusPatch {
  std::string path;
  std::string content_type;
  std::string body;
  // Nothing but the sentence of a message differs: not worth a write now.
  bool only_message = false;
};

// `object`: the PodGroup, whole. `now`: milliseconds since 1970. Nothing: it says so already, or it
// is not for Muster to say.
//   kNotFound         the object is another one of that name
//   kInvalidArgument  it is no PodGroup, or the gang's state is none
cluster::Result<std::optional<StatusPatch>> PlanGangStatus(const engine::PatchGang& gang,
                                                           const ServedPodGroups& as,
                                                           std::string_view object,
                                                           cluster::Time now);

}  // namespace muster::kube
