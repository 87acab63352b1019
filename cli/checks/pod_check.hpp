// What is looked at of manifests beside what a running Muster does: what every API server refuses
// of the pods of its own kinds (Pod, Deployment, Job, …), requests of devices without a limit in
// the pod templates of any kind, what Muster's engine refuses, what is said of gangs and does not
// count (gang_check.hpp), and Jobs that may be meant as gangs and are none. Pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::cli {

struct PodCheck {
  std::vector<cluster::Error> faults;  // with file, line and column as their place
  std::vector<std::string> notes;      // with their place, too: to look at, and no faults
};

// Nothing where the text cannot be read as manifests.
PodCheck CheckPods(std::string_view text, const std::string& file_name);

}  // namespace muster::cli
