#include "cli/reach/cluster_caller.hpp"

#include <algorithm>
#include <utility>

#include "cli/reach/kubeconfig.hpp"
#include "config/dns_names.hpp"
#include "extender/live/cluster_access.hpp"
#include "kube/admission/access_review.hpp"
#include "kube/api/api_client.hpp"
#include "kube/api/api_status.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::cli {

using cluster::Code;
using cluster::Error;
using cluster::ObjectKey;
using cluster::Result;
using cluster::Status;

namespace {

constexpr const char* kAccount = "muster-oncall";
constexpr int kTokenSeconds = 600;  // the least that an API server gives
constexpr std::chrono::seconds kRenewAfter{480};
// Of a TokenRequest, and of a Status.
constexpr std::size_t kMaxTokenReply = std::size_t{1} << 20U;

// SCHEME:NAME:PORT, NAME:PORT or NAME, as the path of the proxy has it.
bool IsServiceName(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ':' || c == '.';
  });
}

// NS/NAME of a flag.
Result<ObjectKey> KeyOf(const std::string& text, const char* flag,
                        bool (*is_name)(const std::string&)) {
  const Result<ObjectKey> key = extender::ParseObjectKey(text);
  if (!key.ok()) return key.error().At(flag);
  if (!config::IsDnsLabel(key->ns) || !is_name(key->name))
    return Error{Code::kInvalidArgument, "\"" + text + "\" is no NAMESPACE/NAME", flag};
  return *key;
}

Result<std::string> ReadToken(const std::string& body) {
  const Result<kube::Json> json = kube::Json::Parse(body, kMaxTokenReply, "TokenRequest");
  if (!json.ok()) return json.error();
  kube::JsonProblems problems;
  const kube::JsonView review(json->root(), "TokenRequest", problems);
  const kube::JsonView status = review.Get("status");
  std::string token(status.Get("token").RequiredText());
  if (!problems.none()) return problems.first();
  const bool printable =
      std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (printable && !token.empty()) return token;
  return Error{Code::kInternal, "the API server sent no token", ""};
}

// Whether an API server wrote it: Muster's own errors are no Status.
bool IsStatus(const std::string& body) {
  const Result<kube::Json> json = kube::Json::Parse(body, kMaxTokenReply, "answer");
  if (!json.ok()) return false;
  kube::JsonProblems problems;
  const kube::JsonView status(json->root(), "answer", problems);
  return status.Get("kind").Text() == "Status";
}

// Of an answer that is the API server's own. Not kNotFound: no page of Muster's was asked for.
Code CodeOfRefusal(int status) {
  if (status == 401 || status == 403) return Code::kForbidden;
  return status == 429 || status >= 500 ? Code::kUnavailable : Code::kInvalidArgument;
}

// What to do about an answer that is the API server's own.
std::string Advice(int status, const ClusterRoute& route) {
  const std::string service = route.service.ns + "/" + route.service.name;
  switch (status) {
    case 401:
      return "; it does not take the credentials of the kubeconfig";
    case 403:
      return "; ask your cluster's operator for the Role muster-oncall (manifests/oncall)";
    case 404:
      return "; Muster's Service is expected at " + service +
             " (manifests/oncall): say another with --service";
    default:
      return "; no replica of Muster may lead, or none can be reached: \"muster doctor\" finds "
             "out why";
  }
}

}  // namespace

Result<std::string> ClusterCaller::TokenOf(const ObjectKey& account) {
  kube::ApiRequest request;
  request.method = kube::Method::kPost;
  request.path = "/api/v1/namespaces/" + account.ns + "/serviceaccounts/" + account.name + "/token";
  kube::JsonWriter json(request.body);
  json.BeginObject().Key("apiVersion").Text("authentication.k8s.io/v1");
  json.Key("kind").Text("TokenRequest").Key("spec").BeginObject();
  json.Key("audiences").BeginArray().Text(kube::kMusterAudience).EndArray();
  json.Key("expirationSeconds").Integer(kTokenSeconds).EndObject().EndObject();
  const Result<kube::ApiReply> reply = ports_.api->Call(request);
  if (!reply.ok()) return reply.error();
  if (reply->ok()) return ReadToken(reply->body);
  const bool none = reply->status == 403 || reply->status == 404;
  return Error{none ? Code::kForbidden : Code::kUnavailable, kube::DescribeReply(*reply), ""};
}

Status ClusterCaller::Renew() {
  if (!route_.token.empty()) {
    token_ = route_.token;
    return cluster::Ok{};
  }
  const auto now = ports_.now();
  if (asked_ && now < renew_at_) return cluster::Ok{};
  why_no_token_.clear();
  token_.clear();
  for (const ObjectKey& account : route_.accounts) {
    Result<std::string> token = TokenOf(account);
    if (token.ok()) {
      token_ = *std::move(token);
      break;
    }
    const Error& error = token.error();
    if (error.code != Code::kForbidden || route_.needs_token) {
      return Error{error.code,
                   "no token of service account " + account.ToString() + ": " + error.ToString(),
                   ""};
    }
    why_no_token_ += (why_no_token_.empty() ? "" : "; ") + error.message;
  }
  asked_ = true;
  renew_at_ = now + kRenewAfter;
  return cluster::Ok{};
}

Result<std::string> ClusterCaller::Call(kube::ApiRequest request) {
  if (const Status renewed = Renew(); !renewed.ok()) return renewed.error();
  request.path = "/api/v1/namespaces/" + route_.service.ns + "/services/" + route_.service.name +
                 "/proxy" + request.path;
  request.timeout = route_.patience;
  if (!token_.empty()) request.headers.emplace_back("X-Muster-Token", token_);
  const Result<kube::ApiReply> reply = ports_.api->Call(request);
  if (!reply.ok()) {
    return Error{Code::kUnavailable,
                 "no answer through the API server: " + reply.error().ToString(), ""};
  }
  if (!reply->ok() && IsStatus(reply->body)) {
    return Error{CodeOfRefusal(reply->status),
                 "the API server does not pass this on to Muster: " + kube::DescribeReply(*reply) +
                     Advice(reply->status, route_),
                 ""};
  }
  Result<std::string> answer =
      AnswerOf("Service " + route_.service.ToString(), reply->status, reply->body);
  if (answer.ok() || reply->status != 403 || why_no_token_.empty()) return answer;
  Error error = answer.error();
  error.message += "; you have no token for Muster: " + why_no_token_;
  return error;
}

Result<std::string> ClusterCaller::Get(const std::string& path) {
  kube::ApiRequest request;
  request.path = path;
  return Call(std::move(request));
}

Result<std::string> ClusterCaller::Post(const std::string& path, const std::string& body,
                                        const std::string& content_type) {
  kube::ApiRequest request;
  request.method = kube::Method::kPost;
  request.path = path;
  request.body = body;
  request.content_type = content_type;
  return Call(std::move(request));
}

Result<std::unique_ptr<MusterCaller>> ReachThroughCluster(const Args& args,
                                                          std::chrono::milliseconds patience) {
  ClusterRoute route;
  route.patience = patience;
  const Result<ObjectKey> service =
      KeyOf(args.Text("--service", kDefaultService), "--service", IsServiceName);
  if (!service.ok()) return service.error();
  route.service = *service;
  Result<std::string> token = TokenIn(args);
  if (!token.ok()) return token.error();
  // Between the API server and Muster it may be readable: it must be worth nothing elsewhere.
  if (!token->empty() && !kube::IsMeantFor(*token, kube::kMusterAudience)) {
    return Error{Code::kInvalidArgument,
                 "through the API server only a token for Muster alone is sent: kubectl create "
                 "token ACCOUNT --audience " +
                     std::string(kube::kMusterAudience),
                 "--token-file"};
  }
  route.token = *std::move(token);
  const Result<kube::ClientConfig> config = ReadCluster(args);
  if (!config.ok()) return config.error();
  route.default_namespace = config->default_namespace;
  if (args.Has("--service-account")) {
    const Result<ObjectKey> account =
        KeyOf(args.Text("--service-account"), "--service-account",
              [](const std::string& name) { return config::IsDnsSubdomain(name); });
    if (!account.ok()) return account.error();
    route.accounts = {*account};
    route.needs_token = true;
  } else {
    const std::string own = args.Text("--namespace", config->default_namespace);
    route.accounts = {{service->ns, kAccount}};
    if (own != service->ns && config::IsDnsLabel(own)) route.accounts.push_back({own, kAccount});
  }
  Result<std::unique_ptr<kube::ApiClient>> client = kube::ApiClient::Create(*config, {});
  if (!client.ok()) return client.error();
  return std::unique_ptr<MusterCaller>(std::make_unique<ClusterCaller>(
      ClusterCaller::Ports{std::shared_ptr<kube::ApiCaller>(*std::move(client)),
                           [] { return std::chrono::steady_clock::now(); }},
      std::move(route)));
}

}  // namespace muster::cli
