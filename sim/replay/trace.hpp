// Trace: what a replay submits to the embedded cluster, read from a CSV file. Plain values.
//
// Formats (both with a header line):
//   openb nodes  sn, cpu_milli, memory_mib, gpu, model
//   openb pods   name, cpu_milli, memory_mib, num_gpu, gpu_milli; optional gpu_spec ("A|B": allowed
//                models), creation_time, deletion_time (s). Weng et al., USENIX ATC 2023
//   gang jobs    job_id, submit_s, gpus, duration_s. Jeon et al., USENIX ATC 2019 (Philly).
//                Optional, empty cells say nothing:
//                gpus_per_pod  GPUs of a member at most (8)
//                topology_required, topology_preferred  a level of the policy's fabric
//                segments_required, segments_preferred  LEVEL=PODS, several with ';' in between
// Both formats of jobs may have, too (job_owners.hpp):
//                namespace     none: see PutInNamespaces
//                user          whose it is, for durations that are learnt
//                queue, or vc (the Philly list's word)  the queue that it asks for
//                tolerations   of its pods beside the recommended ones: KEY, KEY=VALUE or *, with
//                              :EFFECT if only that, several with ';' in between
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/node.hpp"
#include "sim/replay/trace_job.hpp"
#include "topology/fabric/fabric_options.hpp"

namespace muster::sim {

struct Trace {
  std::vector<cluster::Node> nodes;
  std::vector<TraceJob> jobs;  // ordered by submission, then as in the file
};

// "180x8": so many nodes of so many GPUs, named node-000 and so on. "180x8@rack=10,block=60": each
// 10 nodes that follow each other have the label rack=rack-00 and so on, each 60 block=block-0. Of
// a key with a prefix the value begins with what comes after its last '/'.
cluster::Result<std::vector<cluster::Node>> ParseNodeCount(std::string_view text);
cluster::Result<std::vector<cluster::Node>> ReadOpenbNodes(std::string_view text,
                                                           const std::string& file_name);
cluster::Result<std::vector<TraceJob>> ReadOpenbPods(std::string_view text,
                                                     const std::string& file_name);
// A job of g GPUs has ceil(g / p) members, p of gpus_per_pod: equal ones where that divides g, else
// members of p and one of the rest. `fabric`: where each level that a job names has to be.
cluster::Result<std::vector<TraceJob>> ReadGangJobs(std::string_view text,
                                                    const std::string& file_name,
                                                    const topology::FabricOptions& fabric = {});

}  // namespace muster::sim
