// muster check: whether an API server and Muster would take manifests as they are written.
#include <cstddef>
#include <string>

#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "cli/table.hpp"
#include "config/manifest.hpp"
#include "extender/embedded/manifests.hpp"

namespace muster::cli {
namespace {

using cluster::Result;

// "3 objects; of JobSet only names and pod templates were looked at"
std::string Summary(const extender::ManifestCheck& check) {
  std::string text = std::to_string(check.objects) + (check.objects == 1 ? " object" : " objects");
  std::string others;
  for (const std::string& kind : check.others) others += (others.empty() ? "" : ", ") + kind;
  if (!others.empty()) text += "; of " + others + " only names and pod templates were looked at";
  return Printable(text);
}

// Whether it is fine.
bool CheckFile(const std::string& file, const CliStreams& streams) {
  const Result<std::string> text = ReadInput(file, config::kMaxManifestBytes);
  if (!text.ok()) return Fail(streams, text.error().ToString()) == kExitOk;
  const extender::ManifestCheck check = extender::CheckManifests(*text, InputName(file));
  for (const std::string& warning : check.warnings)
    streams.err << "muster: warning: " << Printable(warning) << "\n";
  for (const cluster::Error& fault : check.faults) Fail(streams, Printable(fault.ToString()));
  if (!check.faults.empty()) return false;
  if (check.others.count("Policy") != 0) {
    Fail(streams, Printable(InputName(file)) + ": a Policy is checked by muster check-policy");
    return false;
  }
  streams.out << Printable(InputName(file)) << ": fine, " << Summary(check) << "\n";
  return true;
}

int Check(const Args& args, const CliStreams& streams) {
  if (args.positionals().empty()) return Misused(streams, "check", "give one FILE or more, or -");
  bool fine = true;
  for (const std::string& file : args.positionals()) fine = CheckFile(file, streams) && fine;
  return fine ? kExitOk : kExitFailed;
}

}  // namespace

Command CheckCommand() {
  return {"check",
          "FILE…",
          "check manifests without a server: show all that an API server or Muster would refuse or "
          "ignore",
          {},
          Check,
          {"muster check job.yaml", "kubectl kustomize . | muster check -"}};
}

}  // namespace muster::cli
