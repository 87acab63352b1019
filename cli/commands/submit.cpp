// muster submit: manifests to a running `muster serve`.
#include <string>
#include <vector>

#include "cli/checks/manifest_check.hpp"
#include "cli/flags/cli.hpp"
#include "cli/flags/input.hpp"
#include "cli/reach/muster_caller.hpp"
#include "cli/reach/reach.hpp"
#include "cli/tables/output.hpp"
#include "config/documents/manifest.hpp"
#include "http/messages/url.hpp"

namespace muster::cli {
namespace {

using cluster::Result;

int Submit(const Args& args, const CliStreams& streams) {
  if (!args.positionals().empty()) {
    return Misused(streams, "submit", "unexpected \"" + args.positionals().front() + "\"");
  }
  const std::vector<std::string> files = args.All("--file");
  if (files.empty()) return Misused(streams, "submit", "give -f FILE");
  const auto muster = ReachMuster(args, streams);
  if (!muster.ok()) return Misused(streams, "submit", muster.error().ToString());
  for (const std::string& file : files) {
    const Result<std::string> text = ReadInput(file, config::kMaxManifestBytes);
    if (!text.ok()) return Fail(streams, text.error().ToString());
    const std::string name = InputName(file);
    if (!CheckText(*text, name, streams).fine) return kExitFailed;
    const Result<std::string> body = (*muster)->Post(
        "/v1/manifests?name=" + http::PercentEncoded(name), *text, "application/yaml");
    if (!body.ok() && body.error().code == cluster::Code::kNotFound) {
      return Fail(streams,
                  "this Muster has no embedded cluster; create objects on its cluster with "
                  "kubectl apply, and see what they would do with whatif");
    }
    if (!body.ok()) {
      // Most messages begin with the place; which file it was is always said.
      const std::string& message = body.error().message;
      const std::string place = name + ":";
      return Fail(streams, message.rfind(place, 0) == 0
                               ? message
                               : std::string(place).append(" ").append(message));
    }
    const Result<std::string> lines = SubmittedLines(*body);
    if (!lines.ok()) return Fail(streams, lines.error().message);
    streams.out << *lines;
    streams.err << SubmittedWarnings(*body);
  }
  return kExitOk;
}

}  // namespace

Command SubmitCommand() {
  return {"submit",
          "-f FILE",
          "create objects on the embedded cluster: Nodes, PodGroups, Pods, Jobs, PriorityClasses, "
          "NodeResourceTopologies, ComputeDomains, ResourceSlices, PersistentVolumeClaims, "
          "PersistentVolumes, StorageClasses; what check refuses is refused, other kinds are "
          "named and left out",
          WithAccess(
              {{"--file", "FILE",
                "manifests in YAML or JSON, - for standard input; may be repeated", "-f", true}}),
          Submit,
          {"muster submit -f job.yaml", "cat *.yaml | muster submit -f -"}};
}

}  // namespace muster::cli
