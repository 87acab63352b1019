// Trace: what a replay submits to the embedded cluster, read from a CSV file. Plain values.
//
// Formats (both with a header line):
//   openb nodes  sn, cpu_milli, memory_mib, gpu, model
//   openb pods   name, cpu_milli, memory_mib, num_gpu, gpu_milli; optional gpu_spec ("A|B": allowed
//   models),
//                creation_time, deletion_time (s). Weng et al., USENIX ATC 2023
//   gang jobs    job_id, submit_s, gpus, duration_s; optional vc. Jeon et al., USENIX ATC 2019
//   (Philly)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/node.hpp"
#include "cluster/result.hpp"
#include "cluster/units.hpp"
#include "sim/records.hpp"

namespace muster::sim {

// One job: its pods are created together. More than one pod makes a PodGroup named like the job.
struct TraceJob {
  std::string name;
  cluster::Time submitted;
  std::optional<cluster::Time> deleted;       // its pods are deleted then, whatever they do
  std::optional<cluster::Duration> runs_for;  // of each pod, once it runs
  std::vector<PodRecord> pods;
};

struct Trace {
  std::vector<cluster::Node> nodes;
  std::vector<TraceJob> jobs;  // ordered by submission, then as in the file
};

// "180x8": so many nodes of so many GPUs, named node-000 and so on.
cluster::Result<std::vector<cluster::Node>> ParseNodeCount(std::string_view text);
cluster::Result<std::vector<cluster::Node>> ReadOpenbNodes(std::string_view text,
                                                           const std::string& file_name);
cluster::Result<std::vector<TraceJob>> ReadOpenbPods(std::string_view text,
                                                     const std::string& file_name);
// A job of g GPUs has ceil(g / 8) members: equal ones where that divides g, else members of 8 and
// one of the rest.
cluster::Result<std::vector<TraceJob>> ReadGangJobs(std::string_view text,
                                                    const std::string& file_name);

}  // namespace muster::sim
