// muster doctor: what keeps an installation of Muster from working.
#include "extender/doctor.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "cli/cli.hpp"
#include "cli/kubeconfig.hpp"
#include "cli/table.hpp"
#include "config/dns_names.hpp"
#include "kube/api_client.hpp"

namespace muster::cli {
namespace {

using Kind = extender::Finding::Kind;

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
  const auto config = ReadCluster(args);
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
          WithCluster({{"--namespace", "NS", "in which Muster is installed (default muster-system)",
                        "-n"}}),
          Doctor,
          {"muster doctor", "muster doctor --context prod -n gpu-scheduling"}};
}

}  // namespace muster::cli
