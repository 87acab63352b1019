// muster check: whether an API server and Muster would take manifests as they are written.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/checks/manifest_check.hpp"
#include "cli/flags/cli.hpp"
#include "cli/flags/input.hpp"
#include "cli/tables/table.hpp"
#include "config/documents/manifest.hpp"

namespace muster::cli {
namespace {

using cluster::Result;

// Whether it is fine.
bool CheckFile(const std::string& file, const CliStreams& streams) {
  const Result<std::string> text = ReadInput(file, config::kMaxManifestBytes);
  if (!text.ok()) return Fail(streams, text.error().ToString()) == kExitOk;
  const std::string name = InputName(file);
  const CheckedManifests checked = CheckText(*text, name, streams);
  for (const std::string& warning : checked.warnings)
    streams.err << "muster: warning: " << Printable(warning) << "\n";
  if (checked.fine) streams.out << Printable(name) << ": fine, " << checked.summary << "\n";
  return checked.fine;
}

int Check(const Args& args, const CliStreams& streams) {
  const std::vector<std::string>& files = args.positionals();
  if (files.empty()) return Misused(streams, "check", "give one FILE or more, or -");
  if (std::count(files.begin(), files.end(), kStandardInput) > 1)
    return Misused(streams, "check", "- is given twice: standard input can be read once");
  bool fine = true;
  for (const std::string& file : files) fine = CheckFile(file, streams) && fine;
  return fine ? kExitOk : kExitFailed;
}

}  // namespace

Command CheckCommand() {
  return {"check",
          "FILE…",
          "check manifests without a server: unknown fields, values of another type, pods that no "
          "API server takes, and what Muster would refuse or ignore",
          {},
          Check,
          {"muster check job.yaml", "kubectl kustomize . | muster check -"}};
}

}  // namespace muster::cli
