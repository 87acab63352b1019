// Shortage: why a gang was not placed, in numbers for decisions and in causes for people. Plain
// values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"

namespace muster::policy {

// One thing that keeps a pod off nodes, and off how many, in the order in which people are told. A
// node counts under the first check that fails in kube-scheduler's usual order, but where GPUs are
// asked for under kNoGpus before its labels, and under kGpus before its CPU.
//   kTaint       `name`: what the pod does not tolerate, "key" or "key=value"
//   kCordoned    so that no new pod goes there
//   kNotReady
//   kConstraint  `name`: what does not match of its selector and affinity
//   kLeftOut     cluster::Node::left_out
//   kKept        GangTerms::kept
//   kExcluded    kube-scheduler turned the node down for this pod
//   kPodSlots, kChannels
//   kPorts, kSpread, kNoSpreadLabel, kPodAffinity, kPodAntiAffinity, kOthersAntiAffinity
//                what kube-scheduler's NodePorts, PodTopologySpread and InterPodAffinity say
//   kAttachLimit, kNoVolumeLeft   likewise NodeVolumeLimits and VolumeBinding
//   kCpu, kMemory         less than the pod asks for is free
//   kNamed       `name`: a resource of which there is too little
//   kNoGpus, kOtherGpus   the node has none, or none that can serve the pod; then `name` is what
//                the pod lets of them, empty: any
//   kGpus        too few are free
//   kGpuDevices  enough are free, but in pieces
//   kNuma        enough are free, but the kubelet admits no set of them
struct Cause {
  enum class What {
    kTaint,
    kCordoned,
    kNotReady,
    kConstraint,
    kLeftOut,
    kKept,
    kExcluded,
    kPorts,
    kAttachLimit,
    kNoVolumeLeft,
    kSpread,
    kNoSpreadLabel,
    kPodAffinity,
    kPodAntiAffinity,
    kOthersAntiAffinity,
    kPodSlots,
    kChannels,
    kCpu,
    kMemory,
    kNamed,
    kNoGpus,
    kOtherGpus,
    kGpus,
    kGpuDevices,
    kNuma
  };
  What what = What::kTaint;
  std::string name = {};
  int64_t nodes = 0;
  // Of kCpu (thousandths), kMemory (MiB), kNamed (of its own unit) and the last three (thousandths
  // of a GPU): what the pod asks for, and what is free on the node that has the least and on the
  // one that has the most of it, the first of these by name. `of`: what each of them has in all; 0:
  // not the same.
  int64_t wants = 0;
  int64_t least_free = 0;
  int64_t most_free = 0;
  std::string best = {};
  int64_t of = 0;
  auto operator<=>(const Cause&) const = default;
};

// So many pods of a gang ask for so much each; 0: for no GPUs.
struct RoleWish {
  int64_t pods = 0;
  int64_t gpu_milli = 0;
  auto operator<=>(const RoleWish&) const = default;
};

// Why nodes were rejected for one demand; the counts add up to the number of nodes. A node
// counts under the first check that fails, in kube-scheduler's usual order: cordoned, taints,
// selector, left out, kept, excluded, pod slots, channels, CPU, memory, GPUs, NUMA nodes.
struct Shortage {
  cluster::PodUid pod;  // the first pod that found no node
  // Demands that had found one before. Where not even the pods like this one fit among themselves:
  // how many of those do.
  int64_t placed_before = 0;
  // The same without subgroups before its own, and of how many: all demands there, or those that
  // are alike.
  int64_t fits = 0;
  int64_t fits_of = 0;
  bool fits_alike = false;
  int64_t nodes = 0;          // nodes looked at
  int64_t unschedulable = 0;  // cordoned or not ready
  int64_t constraints = 0;    // selector or affinity does not match
  int64_t taints = 0;
  int64_t left_out = 0;  // cluster::Node::left_out, and nothing said before
  int64_t kept = 0;      // GangTerms::kept
  int64_t excluded = 0;  // kube-scheduler turned the node down for this pod
  int64_t cpu = 0;       // too little free CPU
  int64_t memory = 0;
  int64_t named = 0;      // of a resource that has but its name
  int64_t pod_rules = 0;  // host ports, pod (anti-)affinity, topology spread
  int64_t volumes = 0;    // no more can be attached, or none is left for a claim
  int64_t pod_slots = 0;
  int64_t channels = 0;     // another pod has the node's channel of a ComputeDomain
  int64_t gpus = 0;         // too few free GPUs on the node, in total
  int64_t gpu_devices = 0;  // enough in total, but not as devices: fragmented
  int64_t numa = 0;         // enough as devices, but the kubelet admits no set of them
  int64_t numa_single = 0;  // of these, by single-numa-node; the others by restricted
  // Before any demand is placed: nodes with room for a pod like this one, and what keeps it off the
  // others, in order; their counts and `with_room` add up to `nodes`.
  int64_t with_room = 0;
  std::vector<Cause> causes = {};
  // Of compute or of memory, of which there is less beside what is needed. Σ over the nodes that
  // are neither barred nor excluded, before any demand is placed.
  int64_t free_gpu_milli = 0;
  int64_t gpu_nodes = 0;             // those of them that have GPUs
  int64_t all_gpu_milli = 0;         // of all nodes of the cluster, in use or not
  int64_t largest_node_gpus = 0;     // on the node of `nodes` that has most
  int64_t need_gpu_milli = 0;        // Σ over all demands of the gang
  int64_t pod_gpu_milli = 0;         // of the pod alone, of which it asks for more
  std::vector<RoleWish> roles = {};  // of all demands, those that ask for most GPUs first
  // Where the gang wishes for domains: see WishedDomains. `domain`: the one that the counts are of.
  std::string limit = {};
  int64_t domains = 0;
  std::string domain = {};
  std::string subgroup = {};  // of which they are; empty: of the gang
  bool gave_up = false;       // not all ways to choose its subgroups' domains were tried
  // Where it is to be in segments, and must be: what it requires, or what is wrong with its size.
  std::string segments = {};
  bool only_segments = false;  // and nothing else is in the way
  std::string reserve = {};    // what is kept, for people; where nodes are
};

}  // namespace muster::policy
