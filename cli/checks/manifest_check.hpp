// What `muster check` says of manifests, and every command that hands manifests to a Muster before
// it does: the rules of extender/embedded/manifests.hpp and of pod_check.hpp. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/cli.hpp"

namespace muster::cli {

struct CheckedManifests {
  bool fine = false;
  std::vector<std::string> warnings;  // a Muster that is given them says these, too
  std::string summary;                // "3 objects; of JobSet only names … were looked at"
};

// Faults and notes are on `err` then. `name`: of the file, for messages.
CheckedManifests CheckText(const std::string& text, const std::string& name,
                           const CliStreams& streams);

}  // namespace muster::cli
