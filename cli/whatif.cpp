// muster whatif: what would become of a workload, or of what waits under another policy.
#include <chrono>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/server_pages.hpp"
#include "cli/whatif_text.hpp"
#include "config/file.hpp"
#include "config/policy_file.hpp"
#include "extender/json_text.hpp"
#include "extender/what_if_page.hpp"
#include "http/client.hpp"

namespace muster::cli {
namespace {

using cluster::Result;

constexpr std::chrono::milliseconds kPatience{30'000};

// The request of extender/what_if_page.hpp.
Result<std::string> RequestOf(const Args& args) {
  extender::JsonText json;
  json.BeginObject();
  json.BeginArray("manifests");
  for (const std::string& file : args.All("--file")) {
    const Result<std::string> text = ReadInput(file, extender::kMaxWhatIfBytes);
    if (!text.ok()) return text.error();
    json.BeginObject();
    json.Add("name", InputName(file));
    json.Add("text", *text);
    json.EndObject();
  }
  json.EndArray();
  if (args.Has("--policy")) {
    const Result<std::string> text =
        config::ReadFile(args.Text("--policy"), config::kMaxPolicyBytes);
    if (!text.ok()) return text.error();
    json.BeginObject("policy");
    json.Add("name", args.Text("--policy"));
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
  Result<http::ClientOptions> server = ServerAt(args);
  if (!server.ok()) return Misused(streams, "whatif", server.error().ToString());
  server->timeout = kPatience;
  const Result<std::string> request = RequestOf(args);
  if (!request.ok()) return Fail(streams, request.error().ToString());
  const Result<std::string> body =
      BodyOf(http::Client(*server).Post("/v1/whatif", *request), *server);
  if (!body.ok()) return Fail(streams, body.error().message);
  const int status = Show(streams, *format, *body, Narrow(WhatIfText));
  const bool table = *format == OutputFormat::kTable || *format == OutputFormat::kWide;
  if (status == kExitOk && table) streams.err << SubmittedWarnings(*body);
  return status;
}

}  // namespace

Command WhatIfCommand() {
  return {"whatif",
          "[-f FILE] [--policy FILE]",
          "say what would become of a workload, or of what waits under another policy, and change "
          "nothing",
          WithAccess({{"--file", "FILE",
                       "manifests in YAML or JSON, as submit reads them, - for standard input; may "
                       "be repeated",
                       "-f", true},
                      {"--policy", "FILE", "policy YAML to try in place of the one in force"},
                      OutputFlag()}),
          WhatIf,
          {"muster whatif -f job.yaml", "muster whatif --policy new-policy.yaml"}};
}

}  // namespace muster::cli
