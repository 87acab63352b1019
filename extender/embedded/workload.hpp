// Workload: what manifests would bring to the cluster, as facts, without a cluster that it is
// submitted to: pods of Jobs are made, gates put on, declared gangs given their PodGroups.
#pragma once

#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/facts.hpp"
#include "kube/owners/grouping_book.hpp"

namespace muster::extender {

struct Workload {
  std::vector<engine::Fact> facts;
  // What was ignored of the manifests, with its place; and of which file pods are not Muster's.
  std::vector<std::string> warnings;
};

struct ManifestText {
  std::string name;  // of the file, for messages
  std::string text;
};

// As `muster submit` reads them. kConflict, naming the object: they have it twice.
// kInvalidArgument, too: they have pods, and none of these is Muster's. Created at `now`; pods of
// `grouping.scheduler_names` are behind Muster's gate.
cluster::Result<Workload> ReadWorkload(const std::vector<ManifestText>& manifests,
                                       const kube::GroupingSettings& grouping, cluster::Time now);

// kConflict: a node, pod or PodGroup of the workload has the name of one that is known already.
cluster::Status CheckNames(const std::vector<engine::Fact>& known,
                           const std::vector<engine::Fact>& workload);

}  // namespace muster::extender
