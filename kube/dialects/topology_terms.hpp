// Where in the fabric a gang wants to be, as its PodGroup or pods say: Muster's annotations
// muster.dev/topology-…, else what teams write for Kueue, KAI, Volcano, Koordinator, Grove or
// kube-scheduler itself. Of these systems the first that names levels counts, whole. How a gang is
// divided, and over what it is spread, is for Muster's annotations alone to say. For the decoders
// of kube/ only.
//
// What is malformed is a problem that names the place. Whether the policy has such levels is for
// the engine to say.
#pragma once

#include "cluster/records/topology_terms.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// By it gangs are of one spread group that name none: they are the replicas of a LeaderWorkerSet.
inline constexpr const char* kLeaderWorkerSetLabel = "leaderworkerset.sigs.k8s.io/name";

inline constexpr const char* kKoordinatorTopologyAnnotation =
    "gang.scheduling.koordinator.sh/network-topology-spec";

// Of a PodGroup or pod. Where nobody says anything, muster.dev/compute-domain: "true" is the wish
// for one NVLink domain (label nvidia.com/gpu.clique).
//   Muster   muster.dev/topology-required, -preferred, -segments-required, -segments-preferred,
//            -roles-required, -roles-preferred (topology_subgroups.hpp);
//            muster.dev/topology-balance, -spread, muster.dev/spread-group
//   Kueue    kueue.x-k8s.io/podset-required-topology, -preferred-topology, -slice-required-topology
//            with -slice-size, -slice-required-topology-constraints
//   KAI      kai.scheduler/topology-required-placement, -preferred-placement, segment-size with
//            segment-topology-required-placement, -preferred-placement
//   Volcano  volcano.sh/network-topology-mode and -highest-tier
//   Koordinator  gang.scheduling.koordinator.sh/network-topology-spec
cluster::TopologyTerms ReadTopologyTerms(const JsonView& metadata);

// The wish of a pod that has a channel of a ComputeDomain, where `terms` say nothing of where the
// gang is to be.
void WishForClique(cluster::TopologyTerms& terms);

// Of a PodGroup; where its annotations name no levels, its spec may: spec.networkTopology and
// subGroupPolicy (Volcano), spec.topologyConstraint and subGroups (KAI), packConstraint (Grove),
// spec.schedulingConstraints.topology (kube-scheduler).
cluster::TopologyTerms ReadTopologyTerms(const JsonView& metadata, const JsonView& spec);

}  // namespace muster::kube
