// muster whatif: what would become of a workload, or of what waits under another policy.
#include <optional>
#include <string>
#include <vector>

#include "cli/checks/manifest_check.hpp"
#include "cli/flags/cli.hpp"
#include "cli/flags/input.hpp"
#include "cli/reach/reach.hpp"
#include "cli/reach/server_pages.hpp"
#include "cli/tables/output.hpp"
#include "cli/tables/whatif_text.hpp"
#include "extender/pages/what_if_page.hpp"
#include "extender/wire/json_text.hpp"

namespace muster::cli {
namespace {

using cluster::Result;

// The request of extender/pages/what_if_page.hpp; nothing: what is wrong is on `err`.
std::optional<std::string> RequestOf(const Args& args, const CliStreams& streams) {
  const auto fail = [&](const cluster::Error& error) {
    Fail(streams, error.ToString());
    return std::nullopt;
  };
  extender::JsonText json;
  json.BeginObject();
  json.BeginArray("manifests");
  for (const std::string& file : args.All("--file")) {
    const Result<std::string> text = ReadInput(file, extender::kMaxWhatIfBytes);
    if (!text.ok()) return fail(text.error());
    if (!CheckText(*text, InputName(file), streams).fine) return std::nullopt;
    json.BeginObject();
    json.Add("name", InputName(file));
    json.Add("text", *text);
    json.EndObject();
  }
  json.EndArray();
  if (args.Has("--policy")) {
    const Result<std::string> text = ReadInput(args.Text("--policy"), extender::kMaxWhatIfBytes);
    if (!text.ok()) return fail(text.error());
    json.BeginObject("policy");
    json.Add("name", InputName(args.Text("--policy")));
    json.Add("text", *text);
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

int WhatIf(const Args& args, const CliStreams& streams) {
  if (!args.positionals().empty())
    return Misused(streams, "whatif", "unexpected \"" + args.positionals().front() + "\"");
  if (!args.Has("--file") && !args.Has("--policy"))
    return Misused(streams, "whatif", "give -f FILE, --policy FILE, or both");
  const Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, "whatif", format.error().message);
  const auto muster = ReachMuster(args, streams);
  if (!muster.ok()) return Misused(streams, "whatif", muster.error().ToString());
  const std::optional<std::string> request = RequestOf(args, streams);
  if (!request) return kExitFailed;
  const Result<std::string> body = (*muster)->Post("/v1/whatif", *request);
  if (!body.ok()) return Fail(streams, body.error().message);
  const int status = Show(streams, *format, *body, Narrow(WhatIfText));
  const bool table = *format == OutputFormat::kTable || *format == OutputFormat::kWide;
  if (status == kExitOk && table) streams.err << SubmittedWarnings(*body);
  return status;
}

}  // namespace

Command WhatIfCommand() {
  return {
      "whatif",
      "[-f FILE] [--policy FILE]",
      "say what would become of a workload, or of what waits under another policy, and change "
      "nothing",
      WithAccess({{"--file", "FILE",
                   "manifests in YAML or JSON, as submit reads them, - for standard input; may "
                   "be repeated",
                   "-f", true},
                  {"--policy", "FILE",
                   "policy YAML to try in place of the one in force, or a ConfigMap that holds it"},
                  OutputFlag()}),
      WhatIf,
      {"muster whatif -f job.yaml", "muster whatif --policy new-policy.yaml"}};
}

}  // namespace muster::cli
