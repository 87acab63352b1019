#include "cli/checks/manifest_check.hpp"

#include <set>

#include "cli/checks/pod_check.hpp"
#include "cli/tables/table.hpp"
#include "extender/embedded/manifests.hpp"

namespace muster::cli {
namespace {

using cluster::Error;

// "of JobSet only names and pod templates were looked at"; empty: of all objects everything was.
std::string LookedAt(const extender::ManifestCheck& check) {
  std::string others;
  for (const std::string& kind : check.others) others += (others.empty() ? "" : ", ") + kind;
  if (others.empty()) return {};
  return Printable("of " + others + " only names and pod templates were looked at");
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
  if (!faults.empty()) return faults;
  if (check.objects == 0)
    faults.push_back(
        {cluster::Code::kInvalidArgument, "expected at least one object, found none", name});
  if (check.others.contains("Policy"))
    faults.push_back(
        {cluster::Code::kInvalidArgument, "a Policy is checked by muster check-policy", name});
  return faults;
}

}  // namespace

CheckedManifests CheckText(const std::string& text, const std::string& name,
                           const CliStreams& streams) {
  const extender::ManifestCheck check = extender::CheckManifests(text, name);
  const PodCheck pods = CheckPods(text, name);
  for (const std::string& note : pods.notes)
    streams.err << streams.program << ": note: " << Printable(note) << "\n";
  const std::vector<Error> faults = FaultsOf(check, pods, name);
  for (const Error& fault : faults) Fail(streams, Printable(fault.ToString()));
  const std::string looked_at = LookedAt(check);
  if (!faults.empty() && !looked_at.empty() && !check.others.contains("Policy"))
    streams.err << streams.program << ": note: " << Printable(name) << ": " << looked_at << "\n";
  return {.fine = faults.empty(),
          .warnings = check.warnings,
          .summary = std::to_string(check.objects) + (check.objects == 1 ? " object" : " objects") +
                     (looked_at.empty() ? "" : "; " + looked_at)};
}

}  // namespace muster::cli
