// muster doctor: what keeps an installation of Muster from working.
#include "extender/doctor/doctor.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "cli/flags/cli.hpp"
#include "cli/reach/kubeconfig.hpp"
#include "cli/reach/server_pages.hpp"
#include "cli/tables/table.hpp"
#include "config/dns_names.hpp"
#include "kube/api/api_client.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::cli {
namespace {

using extender::Finding;
using Findings = std::vector<Finding>;

cluster::Time WallClock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return cluster::Time(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

std::string LinesOf(const Findings& findings) {
  std::string lines;
  for (const Finding& finding : findings) {
    std::string kind = ToString(finding.kind);
    kind.resize(9, ' ');
    lines += kind + finding.check + ": " + finding.what +
             (finding.remedy.empty() ? "" : "; " + finding.remedy) + "\n";
  }
  return lines;
}

std::string JsonOf(const Findings& findings) {
  std::string text;
  kube::JsonWriter json(text, kube::JsonWriter::Layout::kLines);
  json.BeginObject().Key("findings").BeginArray();
  for (const Finding& finding : findings) {
    json.BeginObject().Key("kind").Text(ToString(finding.kind));
    json.Key("check").Text(finding.check).Key("what").Text(finding.what);
    if (!finding.remedy.empty()) json.Key("remedy").Text(finding.remedy);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return text + "\n";
}

int Doctor(const Args& args, const CliStreams& streams) {
  if (!args.positionals().empty()) return Misused(streams, "doctor", "it takes flags only");
  extender::DoctorOptions options{.ns = args.Text("--namespace", "muster-system"),
                                  .now = WallClock()};
  if (!config::IsDnsLabel(options.ns))
    return Misused(streams, "doctor", "\"" + options.ns + "\" is no namespace");
  const cluster::Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, "doctor", format.error().message);
  const auto config = ReadCluster(args);
  if (!config.ok()) return Fail(streams, config.error().ToString());
  const auto client = kube::ApiClient::Create(*config, {});
  if (!client.ok()) return Fail(streams, client.error().ToString());
  const Findings findings = extender::Examine(**client, options);
  Show(streams, *format, JsonOf(findings),
       [&findings](std::string_view, std::size_t) { return LinesOf(findings); });
  const auto at_fault = [](const Finding& one) { return one.kind == Finding::Kind::kFault; };
  return std::any_of(findings.begin(), findings.end(), at_fault) ? kExitFailed : kExitOk;
}

}  // namespace

Command DoctorCommand() {
  return {
      "doctor",
      "",
      "find what keeps an installation of Muster from working, and what to do about it",
      WithCluster(
          {{"--namespace", "NS", "in which Muster is installed (default muster-system)", "-n"},
           OutputFlag()}),
      Doctor,
      {"muster doctor", "muster doctor --context prod -n gpu-scheduling", "muster doctor -o json"}};
}

}  // namespace muster::cli
