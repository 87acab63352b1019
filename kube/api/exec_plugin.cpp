#include "kube/api/exec_plugin.hpp"

#include "http/messages/base64.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

constexpr std::size_t kMaxPrinted = std::size_t{1} << 20U;

std::string ServerOf(const ClientConfig& config) {
  const bool bracketed = config.host.find(':') != std::string::npos;
  return std::string("http") + (config.tls ? "s" : "") + "://" + (bracketed ? "[" : "") +
         config.host + (bracketed ? "]" : "") + ":" + std::to_string(config.port) +
         config.path_prefix;
}

}  // namespace

std::string ExecInfo(const ExecPlugin& plugin, const ClientConfig& config, bool interactive) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("apiVersion").Text(plugin.api_version);
  json.Key("kind").Text("ExecCredential").Key("spec").BeginObject();
  json.Key("interactive").Flag(interactive);
  if (plugin.provide_cluster_info) {
    json.Key("cluster").BeginObject().Key("server").Text(ServerOf(config));
    if (!config.ca.data.empty())
      json.Key("certificate-authority-data").Text(http::EncodeBase64(config.ca.data));
    if (!config.tls_server_name.empty()) json.Key("tls-server-name").Text(config.tls_server_name);
    if (config.insecure_skip_tls_verify) json.Key("insecure-skip-tls-verify").Flag(true);
    json.EndObject();
  }
  json.EndObject().EndObject();
  return text;
}

Status TakeExecCredential(const ExecPlugin& plugin, std::string_view printed,
                          ClientConfig* config) {
  const Result<Json> json = Json::Parse(printed, kMaxPrinted, plugin.command);
  if (!json.ok())
    return Error{Code::kInvalidArgument, "expected an ExecCredential as JSON", plugin.command};
  JsonProblems problems;
  const JsonView root(json->root(), plugin.command, problems);
  const JsonView version = root.Get("apiVersion");
  const JsonView status = root.Get("status");
  const JsonView token = status.Get("token");
  config->token = token.Text();
  config->client_certificate.data = status.Get("clientCertificateData").Text();
  config->client_key.data = status.Get("clientKeyData").Text();
  if (version.Text() != plugin.api_version)
    version.Problem("expected " + plugin.api_version + ", as the kubeconfig says");
  if (config->token.find_first_of("\r\n\t ") != std::string::npos)
    token.Problem("expected a token without white space");
  if (config->token.empty() && config->client_certificate.empty())
    status.Problem("expected a token or a client certificate, found none");
  if (config->client_certificate.empty() != config->client_key.empty())
    status.Problem("clientCertificateData and clientKeyData go together");
  if (!problems.none()) return problems.first();
  return cluster::Ok{};
}

}  // namespace muster::kube
