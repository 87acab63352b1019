#include "cli/server_pages.hpp"

#include <algorithm>
#include <cstdlib>

#include "cli/output.hpp"
#include "config/file.hpp"
#include "http/host_port.hpp"
#include "http/url.hpp"

namespace muster::cli {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr int kHttpOk = 200;
constexpr std::size_t kMaxTokenBytes = std::size_t{64} << 10U;
constexpr const char* kServerVariable = "MUSTER_SERVER";

// Names of objects have no other characters.
bool IsPathText(const std::string& text) { return !text.empty() && http::IsUnreserved(text); }

}  // namespace

Flag ServerFlag() {
  return {"--server", "URL",
          "address of muster's API (default: $" + std::string(kServerVariable) + ", else http://" +
              kDefaultApiAddress + ")",
          "-s"};
}

Flag NamespaceFlag() { return {"--namespace", "NS", "of the gang (default: default)", "-n"}; }

Result<cluster::ObjectKey> GangNamed(const Args& args, const std::string& word) {
  const std::size_t slash = word.find('/');
  const std::string ns =
      slash == std::string::npos ? args.Text("--namespace", "default") : word.substr(0, slash);
  const std::string name = slash == std::string::npos ? word : word.substr(slash + 1);
  if (!IsPathText(ns) || !IsPathText(name))
    return Error{Code::kInvalidArgument, "\"" + word + "\" is no NAMESPACE/NAME", ""};
  if (args.Text("--namespace", ns) != ns) {
    return Error{Code::kInvalidArgument,
                 "\"" + word + "\" is not in --namespace " + args.Text("--namespace"), ""};
  }
  return cluster::ObjectKey{ns, name};
}

std::vector<Flag> AccessFlags() {
  return {
      {"--ca", "FILE", "CA of the server's certificate, PEM (default: the system's)"},
      {"--cert", "FILE", "certificate that names you, PEM"},
      {"--key", "FILE", "key of --cert, PEM"},
      {"--token-file", "FILE", "bearer token that names you, as kubectl create token prints it"}};
}

std::vector<Flag> WithAccess(std::vector<Flag> flags) {
  flags.push_back(ServerFlag());
  for (Flag& flag : AccessFlags()) flags.push_back(std::move(flag));
  return flags;
}

Result<http::ClientOptions> ServerAt(const Args& args) {
  const char* const variable = std::getenv(kServerVariable);
  const bool by_variable = !args.Has("--server") && variable != nullptr && *variable != '\0';
  std::string url = by_variable ? variable : args.Text("--server", kDefaultApiAddress);
  constexpr std::string_view kScheme = "http://";
  constexpr std::string_view kTlsScheme = "https://";
  const bool tls = url.starts_with(kTlsScheme);
  if (tls) url.erase(0, kTlsScheme.size());
  if (url.starts_with(kScheme)) url.erase(0, kScheme.size());
  if (!url.empty() && url.back() == '/') url.pop_back();
  const Result<http::HostPort> address = http::ParseHostPort(url);
  if (!address.ok())
    return address.error().At(by_variable ? std::string("$") + kServerVariable : "--server");
  http::ClientOptions options;
  options.host = address->host.empty() ? "127.0.0.1" : address->host;
  options.port = address->port;
  options.tls = tls;
  options.ca_file = args.Text("--ca");
  options.cert_file = args.Text("--cert");
  options.key_file = args.Text("--key");
  for (const char* flag : {"--ca", "--cert", "--key"}) {
    if (args.Has(flag) && !tls)
      return Error{Code::kInvalidArgument, "needs --server https://HOST:PORT", flag};
  }
  if (args.Has("--cert") != args.Has("--key"))
    return Error{Code::kInvalidArgument, "--cert and --key go together", ""};
  if (!args.Has("--token-file")) return options;
  const Result<std::string> token = config::ReadFile(args.Text("--token-file"), kMaxTokenBytes);
  if (!token.ok()) return token.error();
  options.bearer_token = token->substr(0, token->find_last_not_of(" \t\r\n") + 1);
  const bool printable = std::all_of(options.bearer_token.begin(), options.bearer_token.end(),
                                     [](char c) { return c > 0x20 && c < 0x7f; });
  if (options.bearer_token.empty() || !printable)
    return Error{Code::kInvalidArgument, "expected a file with one bearer token", "--token-file"};
  return options;
}

Result<std::string> BodyOf(const Result<http::Reply>& reply, const http::ClientOptions& server) {
  if (!reply.ok()) {
    return Error{reply.error().code,
                 std::string("no answer from http") + (server.tls ? "s" : "") + "://" +
                     server.host + ":" + std::to_string(server.port) +
                     " (is \"muster serve\" running?): " + reply.error().ToString(),
                 ""};
  }
  if (reply->status != kHttpOk) {
    return Error{reply->status == 404 ? Code::kNotFound : Code::kInvalidArgument,
                 ServerMessage(reply->body), ""};
  }
  return reply->body;
}

int Show(const CliStreams& streams, OutputFormat format, const std::string& body,
         const PageTable& table) {
  if (format == OutputFormat::kJson || format == OutputFormat::kYaml) {
    streams.out << InFormat(format, body);
    return kExitOk;
  }
  const Result<std::string> text = table(body, format == OutputFormat::kWide ? 0 : streams.width);
  if (!text.ok()) return Fail(streams, text.error().message);
  streams.out << *text;
  return kExitOk;
}

int ShowPage(const Args& args, const CliStreams& streams, const std::string& command,
             const std::string& path, const PageTable& table) {
  const Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, command, format.error().message);
  const Result<http::ClientOptions> server = ServerAt(args);
  if (!server.ok()) return Misused(streams, command, server.error().ToString());
  const Result<std::string> body = BodyOf(http::Client(*server).Get(path), *server);
  if (!body.ok()) return Fail(streams, body.error().message);
  return Show(streams, *format, *body, table);
}

}  // namespace muster::cli
