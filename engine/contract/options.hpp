// Options: everything about the engine that an operator may change. config/ fills it from the
// policy file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "policy/placing/placement.hpp"
#include "queues/queue_spec.hpp"

namespace muster::engine {

// What happens to the bound members of a gang that stays partial.
enum class PartialGang { kEvict, kHold };

// What becomes of a gang whose lost members find no room in the domain in which they have to be
// replaced (the gang's required level, the segment).
//   kPartialGang  it waits for partial_timeout, then what PartialGang says
//   kWait         it waits, however long
//   kMoveSegment  the other members of the segment are evicted, and the segment is placed anew in
//                 one domain, if there is one with room; else, and without segments, as kWait
//   kMoveGang     as kMoveSegment, but where that does not help all members are evicted, and the
//                 gang is placed anew, if there is room; else as kWait
enum class LostMember { kPartialGang, kWait, kMoveSegment, kMoveGang };

// How kube-scheduler learns of a member's node before the gate goes.
//   kNominate  status.nominatedNodeName: keeps the room free meanwhile, and can be changed
//   kPin       node affinity, for gated pods that have a controller: one write less, but a pod
//              whose plan breaks after its release fits on no other node; it has to be deleted
//              for that
enum class HandOver { kNominate, kPin };

// Which namespaces may have gangs. A name in `deny` never may; an empty `allow` lets all others.
struct NamespaceRules {
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  auto operator<=>(const NamespaceRules&) const = default;
};

// When a node (or a device, where it is known which) is given to no new member, because members
// failed there at their start. See NodeHealth.
struct BadNodes {
  // A container that fails so soon after it was first started counts as a failed start. At
  // admission every failure does.
  cluster::Duration start_window = cluster::Seconds(10);
  int64_t gangs = 2;  // so many different gangs failed there
  int64_t pods = 3;   // or one did, so many times
  // For how long: first × 2^(times in a row - 1), at most `max`.
  cluster::Duration first = cluster::Seconds(300);
  cluster::Duration max = cluster::Seconds(3600);
  // Of all nodes at most so many at a time, one at least where there are two; 0: none ever.
  int64_t most_percent = 10;
};

// What is done so that the cluster grows for gangs that lack room.
//   kNone           nothing
//   kUnschedulable  their pods are released without a node, so that kube-scheduler marks them
//                   Unschedulable: what cluster-autoscaler and Karpenter add nodes for
//   kProvisioningRequest  cluster-autoscaler is asked for their nodes by ProvisioningRequests; they
//                   stay behind their gate
enum class ScaleUp { kNone, kUnschedulable, kProvisioningRequest };

// Which pods are bound with the annotations by which autoscalers leave their nodes alone.
enum class KeepNodes { kNone, kGangs, kAll };

struct Autoscaling {
  ScaleUp scale_up = ScaleUp::kNone;
  // A gang has lacked room for that long: others may be about to leave.
  cluster::Duration after = cluster::Seconds(10);
  KeepNodes keep_nodes = KeepNodes::kGangs;  // kNone where scale_up is
  // Of ProvisioningRequests: provisioningClassName.
  std::string provisioning_class = cluster::kBestEffortAtomicClass;
};

struct Options {
  policy::Options placement;
  // Pods with one of these schedulerNames are planned as soon as they are seen; others when a
  // Filter call brings them.
  std::vector<std::string> scheduler_names = {"muster"};
  NamespaceRules namespaces;
  // Without fault (queues::FindFaults), not empty.
  std::vector<queues::QueueSpec> queues = queues::OneQueue();
  // From plan to the last Bind call; a PodGroup's scheduleTimeoutSeconds takes precedence.
  cluster::Duration reservation_timeout = cluster::Seconds(120);
  // The longest scheduleTimeoutSeconds that is granted.
  cluster::Duration max_reservation_timeout = cluster::Seconds(600);
  // A held Bind call is answered after this at the latest: 0.8 × the extender's httpTimeout.
  cluster::Duration bind_hold_timeout = cluster::Seconds(48);
  // A gang may be partially bound for this long, then its bound members are evicted or held
  // (design: 60 s).
  cluster::Duration partial_timeout = cluster::Seconds(60);
  PartialGang partial_gang = PartialGang::kEvict;
  LostMember lost_member = LostMember::kPartialGang;
  HandOver hand_over = HandOver::kNominate;
  // How long victims may take to leave; then the gang gives up the room that it waits for.
  cluster::Duration victim_timeout = cluster::Seconds(600);
  // After a failed start: first × 2^(failures - 1), at most `backoff_max`.
  cluster::Duration backoff_first = cluster::Seconds(1);
  cluster::Duration backoff_max = cluster::Seconds(300);
  BadNodes bad_nodes;
  Autoscaling autoscaling;
  // A failed API write is tried again after this.
  cluster::Duration retry_interval = cluster::Seconds(1);
  // Largest accepted minMember.
  int64_t max_members = 16384;
};

}  // namespace muster::engine
