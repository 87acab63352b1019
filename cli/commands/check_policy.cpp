// muster check-policy: whether a policy file would be accepted.
#include <string>

#include "cli/checks/node_file.hpp"
#include "cli/checks/policy_room.hpp"
#include "cli/flags/cli.hpp"
#include "cli/flags/input.hpp"
#include "config/documents/manifest.hpp"
#include "config/policies/policy_manifest.hpp"
#include "extender/live/grouping_reach.hpp"

namespace muster::cli {
namespace {

int CheckPolicy(const Args& args, const CliStreams& streams) {
  if (args.positionals().size() != 1) {
    return Misused(streams, "check-policy", "give one policy FILE, or -");
  }
  const std::string& file = args.positionals().front();
  const cluster::Result<std::string> text = ReadInput(file, config::kMaxManifestBytes);
  if (!text.ok()) return Fail(streams, text.error().ToString());
  const std::string name = InputName(file);
  const config::PolicyReading read = config::ReadPolicyOrManifest(*text, name);
  if (!read.ok()) {
    for (const cluster::Error& fault : read.faults) Fail(streams, fault.ToString());
    if (!read.compared)
      streams.err << streams.program << ": note: what the fields say together is checked once "
                  << "these are fixed\n";
    return kExitFailed;
  }
  for (const std::string& note : read.policy.notes) streams.err << note << "\n";
  for (const std::string& note : extender::UnkeptPodPaths(read.policy.grouping))
    streams.err << name << ": " << note << "\n";
  if (args.Has("--nodes")) {
    const auto nodes = ReadNodes(args.Text("--nodes"), "check-policy", streams.err);
    if (!nodes.ok()) return Fail(streams, nodes.error().ToString());
    for (const std::string& beyond : PromisesBeyond(read.policy.engine.queues, *nodes))
      streams.err << name << ": " << beyond << "\n";
  }
  if (args.Has("--show")) {
    streams.out << config::WritePolicy(read.policy);
  } else {
    streams.out << name << ": fine\n";
  }
  return kExitOk;
}

}  // namespace

Command CheckPolicyCommand() {
  return {"check-policy",
          "FILE",
          "check a policy: its file, a ConfigMap that holds it, or - for standard input; show all "
          "faults with line and column",
          {{"--nodes", "FILE|NxG",
            "say which amounts these nodes cannot give: Kubernetes Nodes or NodePools, or for "
            "example 180x8"},
           {"--show", "", "print every field with its value, including defaults"}},
          CheckPolicy,
          {"muster check-policy policy.yaml --nodes nodes.yaml",
           "muster check-policy policy.yaml --show",
           "kubectl kustomize manifests/overlays/default | muster check-policy -"}};
}

}  // namespace muster::cli
