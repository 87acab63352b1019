// muster doctor: what keeps an installation of Muster from working.
#include "extender/doctor.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "cli/cli.hpp"
#include "cli/table.hpp"
#include "config/dns_names.hpp"
#include "extender/cluster_access.hpp"
#include "kube/api_client.hpp"

namespace muster::cli {
namespace {

using Kind = extender::Finding::Kind;

// $KUBECONFIG, else ~/.kube/config. Of several files of $KUBECONFIG the first.
std::string DefaultKubeconfig() {
  // Nothing sets variables once main has begun.
  const char* set = std::getenv("KUBECONFIG");  // NOLINT(concurrency-mt-unsafe)
  if (set != nullptr && *set != '\0') {
    const std::string files(set);
    return files.substr(0, files.find(':'));
  }
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  return std::string(home == nullptr ? "" : home) + "/.kube/config";
}

cluster::Time WallClock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return cluster::Time(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

int Doctor(const Args& args, const CliStreams& streams) {
  if (!args.positionals().empty()) return Misused(streams, "doctor", "it takes flags only");
  extender::DoctorOptions options{.ns = args.Text("--namespace", "muster-system"),
                                  .now = WallClock()};
  if (!config::IsDnsLabel(options.ns))
    return Misused(streams, "doctor", "\"" + options.ns + "\" is no namespace");
  extender::ClusterAccess access;
  access.kubeconfig = args.Text("--kubeconfig", DefaultKubeconfig());
  access.context = args.Text("--context");
  const auto config = extender::ReadClientConfig(access);
  if (!config.ok()) return Fail(streams, config.error().ToString());
  const auto client = kube::ApiClient::Create(*config, {});
  if (!client.ok()) return Fail(streams, client.error().ToString());
  bool fault = false;
  for (const extender::Finding& finding : extender::Examine(**client, options)) {
    fault = fault || finding.kind == Kind::kFault;
    std::string kind = ToString(finding.kind);
    kind.resize(9, ' ');
    streams.out << kind << finding.check << ": " << finding.what
                << (finding.remedy.empty() ? "" : "; " + finding.remedy) << "\n";
  }
  return fault ? kExitFailed : kExitOk;
}

}  // namespace

Command DoctorCommand() {
  return {"doctor",
          "",
          "find what keeps an installation of Muster from working, and what to do about it",
          {{"--kubeconfig", "FILE", "default: $KUBECONFIG, else ~/.kube/config"},
           {"--context", "NAME", "of the kubeconfig (default: its current-context)"},
           {"--namespace", "NS", "in which Muster is installed (default muster-system)", "-n"}},
          Doctor,
          {"muster doctor", "muster doctor --context prod -n gpu-scheduling"}};
}

}  // namespace muster::cli
