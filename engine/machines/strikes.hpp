// What NodeHealth keeps of failed starts (internal to engine/). Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/pod.hpp"

namespace muster::engine {

// What a strike is held against: a node, for its pods with or without GPUs, or one of its devices.
struct Subject {
  static constexpr int32_t kWithoutGpus = -2;
  static constexpr int32_t kWithGpus = -1;
  std::string node;
  int32_t what = kWithoutGpus;  // or the index of a device
  auto operator<=>(const Subject&) const = default;
};

struct Strike {
  std::vector<Subject> subjects;
  std::string culprit;
  cluster::ObjectKey pod;
  std::shared_ptr<const cluster::PodSpec> spec;  // of the pod
  bool admission = false;
  std::string reason;
  cluster::Time at;  // as the pod's status has it
};

// What is held against one subject.
struct Record {
  std::map<std::pair<cluster::Time, cluster::PodUid>, const Strike*> strikes;
  cluster::Time void_until{INT64_MIN};  // strikes up to then are of no account
  int64_t times = 0;                    // left out, in a row
  bool out = false;
  cluster::Time until;  // while out
  std::string why;      // while out
};

// A member that runs where something is held against the node.
struct Trial {
  cluster::Time since;  // as its status has it
  std::vector<Subject> subjects;
  std::optional<cluster::Time> ends;  // well, if nothing happens; set by Decide
};

}  // namespace muster::engine
