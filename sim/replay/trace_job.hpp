// TraceJob: a job of a trace, as it is read of a file and submitted in a replay. A plain value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/records/topology_terms.hpp"
#include "sim/api_server/records.hpp"

namespace muster::sim {

// One job: its pods are created together. More than one pod makes a PodGroup named like the job.
struct TraceJob {
  std::string name;
  cluster::Time submitted;
  std::optional<cluster::Time> deleted;       // its pods are deleted then, whatever they do
  std::optional<cluster::Duration> runs_for;  // of each pod, once it runs
  std::vector<PodRecord> pods;
  cluster::TopologyTerms topology = {};  // of the PodGroup; a single pod has them itself
  std::string ns = {};                   // of its pods and its PodGroup; empty: it says none
  std::string user = {};                 // empty: it says none
  std::string queue = {};                // that it asks for; empty: it names none
  // What its pods say of that in muster.dev/expected-duration (known_durations.hpp).
  std::optional<cluster::Duration> expected = {};
};

}  // namespace muster::sim
