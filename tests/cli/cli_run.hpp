// A command line, run in this process.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/flags/cli.hpp"

namespace muster::cli::testing {

struct CliRun {
  int status = -1;
  std::string out;
  std::string err;
};

inline CliRun Run(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  CliRun run;
  run.status = RunCli(words, {out, err});
  run.out = out.str();
  run.err = err.str();
  return run;
}

}  // namespace muster::cli::testing
