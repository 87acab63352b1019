// Manifests: Kubernetes YAML (or JSON, which is YAML) as objects of the embedded cluster.
//
// Nodes, PodGroups of every flavour (also Grove's PodGangs), Pods, Jobs and PriorityClasses, the
// optional kinds of kube/decode/optional_kinds.hpp, and Lists of them; where malformed objects are
// kept also those of kinds that grouping rules name, with the uid by which the ownerReferences of
// others know them. Beside what Muster itself reads, annotations and terminationGracePeriodSeconds
// are kept, and the annotation
//   sim.muster.dev/runs-for: 90s       how long a simulated pod runs before it succeeds
// Pure functions but for ReadManifestFile and CreateObjects.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod_group.hpp"
#include "extender/embedded/priority_classes.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/records.hpp"

namespace muster::extender {

inline constexpr const char* kRunsForAnnotation = "sim.muster.dev/runs-for";

using ManifestObject = std::variant<sim::NodeRecord, cluster::PodGroup, sim::PodRecord,
                                    sim::JobRecord, sim::OtherRecord>;

// "Pod", "Node", …
std::string KindOf(const ManifestObject& object);
// Namespace (empty for a kind without) and name.
cluster::ObjectKey KeyOf(const ManifestObject& object);

struct Manifests {
  std::vector<ManifestObject> objects;
  // What was ignored of them, each with file, line, column and field (manifest_warnings.hpp).
  std::vector<std::string> warnings = {};
};

// What to do with an object that can be told apart and is malformed otherwise. On a cluster it
// exists, waits and says why (kept); what a user hands in here need not come to exist (refused).
enum class Malformed { kKept, kRefused };

// All objects of the text, in its order, or the first thing that is wrong with its place: file,
// line, column and field; where there is more, the message says how much. What is to be refused has
// no fields either that an API server would refuse or drop
// (config/documents/kubernetes_fields.hpp), may leave its name to generateName, and is left out
// with a warning where its kind is not simulated, unless nothing else is there. `classes`:
// PriorityClasses that pods may name beside those of the text. `version`: of the cluster they are
// for; names that are made differ where it does.
cluster::Result<Manifests> ReadManifests(std::string_view text, const std::string& file_name,
                                         Malformed malformed, PriorityClasses classes = {},
                                         int64_t version = 0);
cluster::Result<Manifests> ReadManifestFile(const std::string& path, Malformed malformed);

struct ManifestCheck {
  std::vector<cluster::Error> faults;  // all of them, in the order of the text
  std::vector<std::string> warnings = {};
  int64_t objects = 0;
  // Kinds whose fields are not known: of these, names and pod templates were looked at.
  std::set<std::string> others = {};
};
// What would be refused of these manifests, by ReadManifests or by an API server. Which
// PriorityClasses there are is not known.
ManifestCheck CheckManifests(std::string_view text, const std::string& file_name);

// 16 nodes of 8 GPUs.
Manifests DefaultCluster();

// All of them or none: kConflict, naming the object, when one exists already or twice.
cluster::Status CreateObjects(sim::ApiServer& api, const std::vector<ManifestObject>& objects);

}  // namespace muster::extender
