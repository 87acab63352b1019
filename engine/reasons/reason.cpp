#include "engine/reasons/reason.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/reasons/cause_words.hpp"

namespace muster::engine {
namespace {

struct Names {
  ReasonCode code;
  const char* name;
  const char* text;    // what is missing
  const char* counts;  // how "have of need" reads; empty: numbers say nothing here
};

constexpr auto kNames = std::to_array<Names>({
    {ReasonCode::kNone, "", "", ""},
    {ReasonCode::kOwnersUnread, "OwnersUnread",
     "nobody knows which pods start together, because an owner of theirs cannot be read", ""},
    {ReasonCode::kPodGroupMissing, "PodGroupMissing", "its PodGroup does not exist", ""},
    {ReasonCode::kWaitingForMembers, "WaitingForMembers", "not all members exist", "pods exist"},
    {ReasonCode::kResourceQuota, "ResourceQuota",
     "a ResourceQuota of its namespace leaves no room for the members that are missing",
     "pods exist"},
    {ReasonCode::kVolumesNotReady, "VolumesNotReady", "the volumes of members are not ready",
     "pods are ready to start"},
    {ReasonCode::kGatedByOthers, "GatedByOthers",
     "other controllers' scheduling gates hold members back", "pods are free of them"},
    {ReasonCode::kOtherScheduler, "OtherScheduler", "not all members exist", "pods exist"},
    {ReasonCode::kPlacedByOthers, "PlacedByOthers",
     "members belong to another scheduler, which has not placed them", "pods are here"},
    {ReasonCode::kNotTried, "NotTried", "complete, its turn has not come yet", ""},
    {ReasonCode::kWatchStale, "WatchStale",
     "nothing is planned while the API server is silent about a resource", ""},
    {ReasonCode::kPodNotFenced, "PodNotFenced",
     "an earlier leader may still bind a member, and that member cannot be written", ""},
    {ReasonCode::kNotEnoughGpus, "NotEnoughGpus", "not enough free GPUs", ""},
    {ReasonCode::kFragmented, "Fragmented",
     "enough free GPUs, but no combination of nodes has enough of them", ""},
    {ReasonCode::kNumaPolicy, "NumaPolicy",
     "enough free GPUs, but the kubelets' topologyManagerPolicy admits no set of them", ""},
    {ReasonCode::kNotEnoughCpu, "NotEnoughCpu", "not enough free CPU", ""},
    {ReasonCode::kNotEnoughMemory, "NotEnoughMemory", "not enough free memory", ""},
    {ReasonCode::kNotEnoughOfResource, "NotEnoughOfResource",
     "not enough of a resource that its pods request is free", ""},
    {ReasonCode::kNotEnoughPodSlots, "NotEnoughPodSlots", "nodes run as many pods as they may", ""},
    {ReasonCode::kNotEnoughChannels, "NotEnoughChannels",
     "nodes have a pod with a channel of a ComputeDomain already, and take one each", ""},
    {ReasonCode::kNoMatchingNode, "NoMatchingNode",
     "too few nodes match its node selector, affinity and tolerations", ""},
    {ReasonCode::kPodRules, "PodRules",
     "its pods' or others' host ports, pod affinity or anti-affinity, or topology spread leave it "
     "too few nodes",
     ""},
    {ReasonCode::kNodeVolumes, "NodeVolumes",
     "too few nodes can attach its volumes, or reach one that is left for each of its claims", ""},
    {ReasonCode::kNodesUnavailable, "NodesUnavailable",
     "nodes it could use are cordoned or not ready", ""},
    {ReasonCode::kNodesLeftOut, "NodesLeftOut",
     "nodes it could use are left out for now, because pods failed there at their start", ""},
    {ReasonCode::kNoWholeSegments, "NoWholeSegments",
     "its members would find nodes, but not in the segments that it requires", ""},
    {ReasonCode::kBlockedByOrder, "BlockedByOrder",
     "order is strict and another gang takes precedence", ""},
    {ReasonCode::kQueueLimit, "QueueLimit", "the limit of its queue is reached", ""},
    {ReasonCode::kQueueGuarantee, "QueueGuarantee", "guarantees of queues leave no room for it",
     ""},
    {ReasonCode::kMinRuntime, "MinRuntime",
     "gangs that would make room for it may not be evicted yet", ""},
    {ReasonCode::kDisruptionBudget, "DisruptionBudget",
     "gangs that would make room for it are protected by PodDisruptionBudgets", ""},
    {ReasonCode::kReserved, "Reserved", "there is room, but it is kept for others", ""},
    {ReasonCode::kBackfillLimit, "BackfillLimit",
     "as many gangs of its namespace as its queue allows went ahead of a gang that waits", ""},
    {ReasonCode::kHold, "Hold", "its queue starts no gangs for now", ""},
    {ReasonCode::kReservationExpired, "ReservationExpired",
     "the reservation expired before all members reached Bind", "did"},
    {ReasonCode::kRefused, "Refused", "kube-scheduler finds no node for a member", ""},
    {ReasonCode::kBindFailed, "BindFailed", "the API server refused a binding", ""},
    {ReasonCode::kPlanBroken, "PlanBroken", "a planned node was lost, cordoned or taken", ""},
    {ReasonCode::kRepairing, "Repairing",
     "it was partially bound for too long; its bound members are evicted", "were bound"},
    {ReasonCode::kCancelled, "Cancelled", "its plan was given back by an operator's order", ""},
    {ReasonCode::kVictimsStay, "VictimsStay", "evicted pods did not leave room for it", "are gone"},
    {ReasonCode::kVictimsLeaving, "VictimsLeaving", "evicted pods are leaving room for it",
     "are gone"},
    {ReasonCode::kNominating, "Nominating", "members are being nominated", "are"},
    {ReasonCode::kReleasing, "Releasing", "scheduling gates are being removed", "are released"},
    {ReasonCode::kWaitingForBind, "WaitingForBind", "waiting for kube-scheduler's Bind calls",
     "have arrived"},
    {ReasonCode::kBinding, "Binding", "members are being bound", "are"},
    {ReasonCode::kMembersLost, "MembersLost", "members were lost", "are bound"},
    {ReasonCode::kMoving, "Moving",
     "lost members find no room in their domain, so others are evicted to start with them "
     "elsewhere",
     "were bound"},
    {ReasonCode::kPreempted, "Preempted", "evicted for a gang that takes precedence", ""},
    {ReasonCode::kReclaimed, "Reclaimed", "evicted by an operator's order", ""},
    {ReasonCode::kInvalidPodGroup, "InvalidPodGroup", "its PodGroup is malformed", ""},
    {ReasonCode::kInvalidMember, "InvalidMember", "a member is malformed", ""},
    {ReasonCode::kUnplannedDevices, "UnplannedDevices",
     "a member requests devices that cannot be planned", ""},
    {ReasonCode::kNamespaceForbidden, "NamespaceForbidden",
     "the policy does not let this namespace have gangs", ""},
    {ReasonCode::kNamespaceEnding, "NamespaceEnding", "its namespace is being deleted", ""},
    {ReasonCode::kQueueForbidden, "QueueForbidden", "it has no queue that it may use", ""},
    {ReasonCode::kQueueUnknown, "QueueUnknown", "the policy does not have its queue", ""},
    {ReasonCode::kEvicted, "Evicted", "it was evicted, and its queue does not start it again", ""},
    {ReasonCode::kNeverFits, "NeverFits",
     "it would not fit this cluster even if only the pods ran that stay on its nodes", ""},
});

const Names& Find(ReasonCode code) {
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Names& n) { return n.code == code; });
  return found == kNames.end() ? kNames.front() : *found;
}

// What is short, left-out nodes aside.
Reason NearestMiss(const policy::Shortage& shortage) {
  Reason reason;
  reason.have = shortage.placed_before;
  reason.need = 0;
  if (shortage.only_segments) return Because(ReasonCode::kNoWholeSegments);
  const bool wants_gpus = shortage.pod_gpu_milli > 0;
  const bool short_of_gpus = wants_gpus && shortage.free_gpu_milli < shortage.need_gpu_milli &&
                             shortage.unschedulable + shortage.taints + shortage.constraints +
                                     shortage.left_out + shortage.excluded <
                                 shortage.nodes;
  if (short_of_gpus) {
    reason.code = ReasonCode::kNotEnoughGpus;
    reason.have = shortage.free_gpu_milli;
    reason.need = shortage.need_gpu_milli;
    return reason;
  }
  // The kind of refusal that costs most nodes is the one to name; on a tie the later check, which
  // is the nearer miss.
  struct Loss {
    ReasonCode code;
    int64_t nodes;
  };
  const std::array<Loss, 12> losses = {{
      {ReasonCode::kNodesUnavailable, shortage.unschedulable},
      {ReasonCode::kNodesLeftOut, shortage.left_out},
      {ReasonCode::kNoMatchingNode, shortage.taints + shortage.constraints + shortage.excluded},
      {ReasonCode::kPodRules, shortage.pod_rules},
      {ReasonCode::kNodeVolumes, shortage.volumes},
      {ReasonCode::kNotEnoughPodSlots, shortage.pod_slots},
      {ReasonCode::kNotEnoughChannels, shortage.channels},
      {ReasonCode::kNotEnoughCpu, shortage.cpu + (wants_gpus ? 0 : shortage.kept)},
      {ReasonCode::kNotEnoughMemory, shortage.memory},
      {ReasonCode::kNotEnoughOfResource, shortage.named},
      {ReasonCode::kFragmented,
       shortage.gpus + shortage.gpu_devices + (wants_gpus ? shortage.kept : 0)},
      {ReasonCode::kNumaPolicy, shortage.numa},
  }};
  // A node that only lacks room is a nearer miss than one that could never do: name room first when
  // there is any.
  const Loss* best = nullptr;
  for (size_t i = 3; i < losses.size(); ++i) {
    if (losses[i].nodes > 0 && (best == nullptr || losses[i].nodes >= best->nodes))
      best = &losses[i];
  }
  for (const size_t i : {size_t{1}, size_t{0}, size_t{2}}) {
    if (best == nullptr && (losses[i].nodes > 0 || i == 2)) best = &losses[i];
  }
  reason.code = best->code;
  return reason;
}

std::string Nodes(int64_t count) {
  return std::to_string(count) + (count == 1 ? " node" : " nodes");
}

// Nodes with enough free GPUs, of which the kubelet admits no set.
std::string OfNumaNodes(const policy::Shortage& shortage) {
  const std::string gpus = Thousandths(shortage.pod_gpu_milli);
  std::string text;
  if (shortage.numa_single > 0) {
    text = "on " + Nodes(shortage.numa_single) + " " + gpus +
           " free GPUs are on no one NUMA node (topologyManagerPolicy single-numa-node)";
  }
  const int64_t restricted = shortage.numa - shortage.numa_single;
  if (restricted == 0) return text;
  const bool first = text.empty();
  return text + (first ? "on " : ", on ") + Nodes(restricted) + (first ? " free GPUs are" : "") +
         " on more NUMA nodes than " + gpus + " GPUs need (" +
         (first ? "topologyManagerPolicy " : "") + "restricted)";
}

// A gang that must be within one domain: what that has to do with it.
std::string OfDomains(const policy::Shortage& shortage, ReasonCode code, bool never,
                      const Down& down) {
  const std::string level = "domain of level " + shortage.limit;
  const std::string who = shortage.subgroup.empty() ? "it" : "subgroup " + shortage.subgroup;
  if (shortage.domains == 0) return "no node is in a " + level + ", and " + who + " requires one";
  const std::string nearest = shortage.domains == 1
                                  ? "the only one, "
                                  : "the nearest of " + std::to_string(shortage.domains) + ", ";
  const std::string& domain = down.domain.empty() ? shortage.domain : down.domain;
  if (never) return "no " + level + " can ever hold " + who + ", not even " + nearest + domain;
  const bool away = code == ReasonCode::kNodesUnavailable || code == ReasonCode::kNodesLeftOut;
  std::string when = away ? "all nodes there can be used again" : "others leave it";
  if (!down.what.empty()) {
    when = std::string(down.others ? "others leave it and " : "") +
           "what is down there is back: " + down.what;
  }
  return who + " requires one " + level + "; it could fit " + nearest + domain + ", when " + when;
}

}  // namespace

const char* ToString(ReasonCode code) { return Find(code).name; }

bool LacksRoom(ReasonCode code) {
  switch (code) {
    case ReasonCode::kNotEnoughGpus:
    case ReasonCode::kFragmented:
    case ReasonCode::kNumaPolicy:
    case ReasonCode::kNotEnoughCpu:
    case ReasonCode::kNotEnoughMemory:
    case ReasonCode::kNotEnoughOfResource:
    case ReasonCode::kPodRules:
    case ReasonCode::kNodeVolumes:
    case ReasonCode::kNotEnoughPodSlots:
    case ReasonCode::kNotEnoughChannels:
    case ReasonCode::kNoWholeSegments:
    case ReasonCode::kReserved:
      return true;
    default:
      return false;
  }
}

const char* FormerName(ReasonCode code) {
  return code == ReasonCode::kWatchStale ? "StalePicture" : nullptr;
}

Reason Because(ReasonCode code, int64_t have, int64_t need, std::string detail) {
  Reason reason;
  reason.code = code;
  reason.have = have;
  reason.need = need;
  reason.detail = std::move(detail);
  return reason;
}

Reason NeverFits(const Reason& why) {
  Reason never = Because(ReasonCode::kNeverFits, 0, 0, Describe(why));
  never.shortage = why.shortage;
  return never;
}

std::string Describe(const Reason& reason) {
  const Names& names = Find(reason.code);
  std::string text = names.text;
  if (*names.counts != '\0' && reason.need > 0) {
    text += ": " + std::to_string(reason.have) + " of " + std::to_string(reason.need) + " " +
            names.counts;
  }
  if (!reason.counts.empty()) text.append(": ").append(reason.counts.view());
  if (!reason.detail.empty()) text += (reason.counts.empty() ? ": " : "; ") + reason.detail;
  return text;
}

Reason FromShortage(const policy::Shortage& shortage, bool never, const Down& down) {
  Reason reason = NearestMiss(shortage);
  const auto add = [&](const std::string& text) {
    if (!reason.detail.empty()) reason.detail += "; ";
    reason.detail += text;
  };
  if (shortage.numa > 0) add(OfNumaNodes(shortage));
  if (!shortage.limit.empty()) {
    add(OfDomains(shortage, reason.code, never, down));
  } else if (!shortage.subgroup.empty()) {
    add("subgroup " + shortage.subgroup + " has no room");
  } else if (!never && !down.what.empty()) {
    add("it could fit when what is down is back: " + down.what);
  }
  if (!shortage.segments.empty()) add(shortage.segments);
  if (shortage.kept > 0 && !shortage.reserve.empty()) add(shortage.reserve);
  reason.counts = SharedText(LackText(shortage, never));
  reason.shortage = SharedShortage(shortage);
  return reason;
}

}  // namespace muster::engine
