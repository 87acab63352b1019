// LeftOver: how a replay ends: what is free, and why pods stayed out. Pure functions.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sim/api_server/records.hpp"
#include "sim/replay/model_use.hpp"

namespace muster::sim {

// What a pod lacks on the nodes of a model that it may use, judged by the node where it lacks
// least: of several causes the last one here.
enum class OutCause {
  kRefused,       // Muster refuses its gang, wherever it is
  kNoNode,        // there is none that it may use, of any model
  kGpusInUse,     // fewer GPUs are free on them than it asks for
  kGpusInPieces,  // as many are free, but not on one node, or only as parts of several
  kPodSlots,      // a node has the GPUs, and lacks this
  kMemory,
  kCpu,
  kNamed,     // one of which only the name is known
  kNotAlone,  // it fits, but its gang does not, or it is not its turn
};
// "GPUs in use", …
const char* ToString(OutCause cause);

struct OutRow {
  OutCause cause = OutCause::kNoNode;
  std::string model;  // empty: see ModelReport, or none
  int64_t pods = 0;
  cluster::GpuMilli gpus;  // that they ask for
};

struct LeftOver {
  // Of pods that are not bound; one that may use several models is in a row of each. Most pods
  // first.
  std::vector<OutRow> out;
  std::vector<ModelReport> free;  // only what they say of the end counts
};

// `whole_only`: whoever asks for a part of a GPU gets a whole one. `refused`: pods.
LeftOver LookAtTheEnd(const std::vector<cluster::Node>& nodes, const std::vector<PodPtr>& pods,
                      bool whole_only, const std::set<cluster::ObjectKey>& refused = {});

}  // namespace muster::sim
