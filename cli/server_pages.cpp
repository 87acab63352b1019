#include "cli/server_pages.hpp"

#include "cli/output.hpp"
#include "http/host_port.hpp"

namespace muster::cli {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr int kHttpOk = 200;

}  // namespace

Flag ServerFlag() {
  return {"--server", "URL",
          "address of muster's API (default http://" + std::string(kDefaultApiAddress) + ")", "-s"};
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

Result<std::string> BodyOf(const Result<http::Reply>& reply, const http::ClientOptions& server) {
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

int ShowPage(const Args& args, const CliStreams& streams, const std::string& command,
             const std::string& path, Result<std::string> (*table)(std::string_view)) {
  const std::string format = args.Text("--output", "table");
  if (format != "table" && format != "json") {
    return Misused(streams, command, "--output must be table or json, not \"" + format + "\"");
  }
  const Result<http::ClientOptions> server = ServerAt(args);
  if (!server.ok()) return Misused(streams, command, server.error().ToString());
  const Result<std::string> body = BodyOf(http::Client(*server).Get(path), *server);
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

}  // namespace muster::cli
