// muster check: whether an API server and Muster would take manifests as they are written.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "cli/pod_check.hpp"
#include "cli/table.hpp"
#include "config/manifest.hpp"
#include "extender/embedded/manifests.hpp"

namespace muster::cli {
namespace {

using cluster::Error;
using cluster::Result;

// "of JobSet only names and pod templates were looked at"; empty: of all objects everything was.
std::string LookedAt(const extender::ManifestCheck& check) {
  std::string others;
  for (const std::string& kind : check.others) others += (others.empty() ? "" : ", ") + kind;
  if (others.empty()) return {};
  return Printable("of " + others + " only names and pod templates were looked at");
}

// "3 objects; of JobSet only names and pod templates were looked at"
std::string Summary(const extender::ManifestCheck& check) {
  const std::string looked_at = LookedAt(check);
  return std::to_string(check.objects) + (check.objects == 1 ? " object" : " objects") +
         (looked_at.empty() ? "" : "; " + looked_at);
}

// Each once: a request without a limit is a fault of both.
std::vector<Error> FaultsOf(const extender::ManifestCheck& check, const PodCheck& pods,
                            const std::string& name) {
  std::vector<Error> faults;
  std::set<std::string> told;
  for (const std::vector<Error>* list : {&check.faults, &pods.faults}) {
    for (const Error& fault : *list)
      if (told.insert(fault.ToString()).second) faults.push_back(fault);
  }
  if (faults.empty() && check.objects == 0)
    faults.push_back(
        {cluster::Code::kInvalidArgument, "expected at least one object, found none", name});
  return faults;
}

// Whether it is fine.
bool CheckFile(const std::string& file, const CliStreams& streams) {
  const Result<std::string> text = ReadInput(file, config::kMaxManifestBytes);
  if (!text.ok()) return Fail(streams, text.error().ToString()) == kExitOk;
  const std::string name = InputName(file);
  const extender::ManifestCheck check = extender::CheckManifests(*text, name);
  const PodCheck pods = CheckPods(*text, name);
  for (const std::string& warning : check.warnings)
    streams.err << "muster: warning: " << Printable(warning) << "\n";
  for (const std::string& note : pods.notes)
    streams.err << streams.program << ": note: " << Printable(note) << "\n";
  const std::vector<Error> faults = FaultsOf(check, pods, name);
  for (const Error& fault : faults) Fail(streams, Printable(fault.ToString()));
  if (!faults.empty()) {
    const std::string looked_at = LookedAt(check);
    if (!looked_at.empty())
      streams.err << streams.program << ": note: " << Printable(name) << ": " << looked_at << "\n";
    return false;
  }
  if (check.others.count("Policy") != 0) {
    Fail(streams, Printable(name) + ": a Policy is checked by muster check-policy");
    return false;
  }
  streams.out << Printable(name) << ": fine, " << Summary(check) << "\n";
  return true;
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
