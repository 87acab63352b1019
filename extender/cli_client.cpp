// muster submit, get and explain: clients of a running `muster serve`.
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "config/file.hpp"
#include "extender/cli.hpp"
#include "extender/cli_output.hpp"
#include "http/client.hpp"
#include "http/host_port.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;

constexpr int kHttpOk = 200;
constexpr std::size_t kMaxManifestBytes = std::size_t{32} << 20U;

// Characters that a URL takes as they are.
constexpr std::string_view kPathCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

Flag ServerFlag() {
  return {"--server", "URL",
          "where muster serves its API (default http://" + std::string(kDefaultApiAddress) + ")",
          "-s"};
}

Flag OutputFlag() { return {"--output", "FORMAT", "table (default) or json", "-o"}; }

Result<http::ClientOptions> ServerAt(const Args& args) {
  std::string url = args.Text("--server", kDefaultApiAddress);
  constexpr std::string_view kScheme = "http://";
  if (url.compare(0, kScheme.size(), kScheme) == 0) url.erase(0, kScheme.size());
  if (!url.empty() && url.back() == '/') url.pop_back();
  const Result<http::HostPort> address = http::ParseHostPort(url);
  if (!address.ok()) return address.error().At("--server");
  http::ClientOptions options;
  options.host = address->host.empty() ? "127.0.0.1" : address->host;
  options.port = address->port;
  return options;
}

// The answer's body, or an error that says what the server said.
Result<std::string> Body(const Result<http::Reply>& reply, const http::ClientOptions& server) {
  if (!reply.ok()) {
    return Error{reply.error().code,
                 "no answer from http://" + server.host + ":" + std::to_string(server.port) +
                     " (is \"muster serve\" running?): " + reply.error().ToString(),
                 ""};
  }
  if (reply->status != kHttpOk) {
    return Error{reply->status == 404 ? Code::kNotFound : Code::kInvalidArgument,
                 ServerMessage(reply->body), ""};
  }
  return reply->body;
}

Result<std::string> ReadInput(const std::string& file) {
  if (file == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  return config::ReadFile(file, kMaxManifestBytes);
}

// Gets `path` and prints it as JSON or through `table`.
int Show(const Args& args, const CliStreams& streams, const std::string& command,
         const std::string& path, Result<std::string> (*table)(std::string_view)) {
  const std::string format = args.Text("--output", "table");
  if (format != "table" && format != "json") {
    return Misused(streams, command, "--output must be table or json, not \"" + format + "\"");
  }
  const Result<http::ClientOptions> server = ServerAt(args);
  if (!server.ok()) return Misused(streams, command, server.error().ToString());
  const Result<std::string> body = Body(http::Client(*server).Get(path), *server);
  if (!body.ok()) return Fail(streams, body.error().message);
  if (format == "json") {
    streams.out << *body;
    return kExitOk;
  }
  const Result<std::string> text = table(*body);
  if (!text.ok()) return Fail(streams, text.error().message);
  streams.out << *text;
  return kExitOk;
}

// `text` as the value of a query parameter.
std::string QueryText(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (kPathCharacters.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xfU];
  }
  return out;
}

int Submit(const Args& args, const CliStreams& streams) {
  if (!args.positionals().empty()) {
    return Misused(streams, "submit", "unexpected \"" + args.positionals().front() + "\"");
  }
  const std::vector<std::string> files = args.All("--file");
  if (files.empty()) return Misused(streams, "submit", "which file? Give -f FILE");
  const Result<http::ClientOptions> server = ServerAt(args);
  if (!server.ok()) return Misused(streams, "submit", server.error().ToString());
  http::Client client(*server);
  for (const std::string& file : files) {
    const Result<std::string> text = ReadInput(file);
    if (!text.ok()) return Fail(streams, text.error().ToString());
    const std::string name = file == "-" ? "stdin" : file;
    const Result<std::string> body = Body(
        client.Post("/v1/manifests?name=" + QueryText(name), *text, "application/yaml"), *server);
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
  }
  return kExitOk;
}

int Get(const Args& args, const CliStreams& streams) {
  if (args.positionals().size() != 1) {
    return Misused(streams, "get", "what? Give one of gangs, nodes");
  }
  const std::string& what = args.positionals().front();
  if (what == "gangs") return Show(args, streams, "get", "/v1/gangs", GangsTable);
  if (what == "nodes") return Show(args, streams, "get", "/v1/nodes", NodesTable);
  return Misused(streams, "get", "\"" + what + "\" is unknown: give one of gangs, nodes");
}

// Names of objects have no other characters.
bool IsPathText(const std::string& text) {
  return !text.empty() && text.find_first_not_of(kPathCharacters) == std::string::npos;
}

int Explain(const Args& args, const CliStreams& streams) {
  const std::vector<std::string>& words = args.positionals();
  if (words.size() != 2 || words[0] != "gang") {
    return Misused(streams, "explain", "give \"gang NAMESPACE/NAME\"");
  }
  const std::size_t slash = words[1].find('/');
  const std::string ns = slash == std::string::npos ? "default" : words[1].substr(0, slash);
  const std::string name = slash == std::string::npos ? words[1] : words[1].substr(slash + 1);
  if (!IsPathText(ns) || !IsPathText(name)) {
    return Misused(streams, "explain", "\"" + words[1] + "\" is no NAMESPACE/NAME");
  }
  return Show(args, streams, "explain", "/v1/gangs/" + ns + "/" + name, GangExplained);
}

}  // namespace

Command SubmitCommand() {
  return {"submit",
          "-f FILE",
          "create Nodes, PodGroups, Pods and Jobs on the embedded cluster",
          {{"--file", "FILE", "manifests in YAML or JSON, - for standard input; may be repeated",
            "-f", true},
           ServerFlag()},
          Submit};
}

Command GetCommand() {
  return {"get", "gangs|nodes", "list gangs or nodes", {OutputFlag(), ServerFlag()}, Get};
}

Command ExplainCommand() {
  return {"explain",
          "gang NAMESPACE/NAME",
          "say why a gang waits, and where it is planned or runs",
          {OutputFlag(), ServerFlag()},
          Explain};
}

}  // namespace muster::extender
