// muster check-policy: whether a policy file would be accepted.
#include <string>

#include "cli/cli.hpp"
#include "config/policy_file.hpp"

namespace muster::cli {
namespace {

int CheckPolicy(const Args& args, const CliStreams& streams) {
  if (args.positionals().size() != 1) {
    return Misused(streams, "check-policy", "give one policy FILE");
  }
  const std::string& file = args.positionals().front();
  const config::PolicyReading read = config::ReadPolicyFile(file);
  if (!read.ok()) {
    for (const cluster::Error& fault : read.faults) Fail(streams, fault.ToString());
    return kExitFailed;
  }
  for (const std::string& note : read.policy.notes) streams.err << note << "\n";
  if (args.Has("--show")) {
    streams.out << config::WritePolicy(read.policy);
  } else {
    streams.out << file << ": fine\n";
  }
  return kExitOk;
}

}  // namespace

Command CheckPolicyCommand() {
  return {"check-policy",
          "FILE",
          "check a policy file; show errors with line and column",
          {{"--show", "", "print every field with its value, including defaults"}},
          CheckPolicy,
          {"muster check-policy policy.yaml", "muster check-policy policy.yaml --show"}};
}

}  // namespace muster::cli
