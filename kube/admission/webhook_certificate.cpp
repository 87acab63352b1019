#include "kube/admission/webhook_certificate.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "http/messages/base64.hpp"
#include "http/messages/url.hpp"
#include "http/tls/serving_certificate.hpp"
#include "kube/api/refusal.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Duration;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using cluster::Time;
using http::CertificatePair;

namespace {

constexpr size_t kMaxObjectBytes = size_t{4} << 20;
// Below the margin of LeaderElection::MayWrite.
constexpr std::chrono::milliseconds kCallTimeout{3'500};
// Clocks of API servers may be behind.
constexpr Duration kSkew = cluster::Seconds(3'600);
// Authorities that have not ended: more than replacing one needs, and an end where hosts change
// over and over.
constexpr size_t kMostAuthorities = 4;
constexpr const char* kAuthorityName = "muster webhook";

std::chrono::sys_seconds SecondsOf(Time wall) {
  return std::chrono::sys_seconds(std::chrono::seconds(wall.milliseconds() / 1000));
}

ApiRequest RequestFor(Method method, std::string path) {
  ApiRequest request;
  request.method = method;
  request.lane = Lane::kReport;
  request.path = std::move(path);
  request.timeout = kCallTimeout;
  return request;
}

std::string Decoded(const JsonView& data, const char* key) {
  const JsonView value = data.Get(key);
  return http::DecodeBase64(value.Text()).value_or("");
}

// As the API server calls it: "name.namespace.svc", or the host of a URL. Empty: neither is given.
std::string HostOf(const JsonView& client) {
  const JsonView service = client.Get("service");
  if (service.present()) {
    const JsonView name = service.Get("name");
    const JsonView ns = service.Get("namespace");
    return std::string(name.RequiredText()) + "." + std::string(ns.RequiredText()) + ".svc";
  }
  const JsonView url = client.Get("url");
  const Result<http::Url> read = http::ParseUrl(std::string(url.Text()));
  return read.ok() ? http::CanonicalHost(read->host) : "";
}

// What is over at that time goes, as do the oldest beyond the bound.
std::string Living(const std::string& authorities, std::chrono::sys_seconds now) {
  std::vector<std::string> living;
  for (std::string& one : http::SplitCertificates(authorities)) {
    const Result<http::CertificateTerm> term = http::ReadCertificateTerm(one);
    if (term.ok() && now < term->not_after) living.push_back(std::move(one));
  }
  const size_t first = living.size() - std::min(living.size(), kMostAuthorities);
  std::string text;
  for (size_t i = first; i < living.size(); ++i) text += living[i];
  return text;
}

// Nothing: such a certificate is to be replaced at once.
std::optional<http::CertificateTerm> TermOf(const CertificatePair& pair,
                                            const std::vector<std::string>& hosts,
                                            std::chrono::sys_seconds now) {
  const Result<http::CertificateTerm> term = http::ReadCertificateTerm(pair.certificate);
  if (!term.ok() || !http::Usable(pair) || now >= term->not_after) return std::nullopt;
  if (!std::includes(term->hosts.begin(), term->hosts.end(), hosts.begin(), hosts.end()))
    return std::nullopt;
  return *term;
}

bool IsOld(const http::CertificateTerm& term, std::chrono::sys_seconds now) {
  return now - term.not_before >= (term.not_after - term.not_before) * 2 / 3;
}

}  // namespace

Error WebhookCertificate::Explained(const Error& error, const std::string& object) const {
  if (error.code == Code::kNotFound) {
    return {error.code, object + " does not exist: apply manifests/admission/webhook", ""};
  }
  if (error.code != Code::kForbidden) return Error(error).At(object);
  return {error.code,
          "Muster may not get and patch " + object +
              ": give its service account these rights (muster-webhook of the manifests). " +
              error.message,
          ""};
}

Result<std::string> WebhookCertificate::Ask(const ApiRequest& request,
                                            const std::string& object) const {
  const Result<ApiReply> reply = ports_.api.Call(request);
  if (!reply.ok()) return Explained(reply.error(), object);
  if (!reply->ok()) return Explained(ErrorOf(*reply), object);
  return reply->body;
}

Time WebhookCertificate::Step(const Clocks& now) {
  const Status looked = Look(now);
  const std::string what = looked.ok() ? "" : looked.error().ToString();
  if (!what.empty() && what != told_) ports_.warn("certificate of the webhook: " + what);
  told_ = what;
  return now.steady + (looked.ok() ? options_.every : options_.retry);
}

Status WebhookCertificate::Look(const Clocks& now) {
  Result<Secret> secret = ReadSecret();
  if (!secret.ok()) return secret.error();
  Status led = Ok{};
  if (ports_.may_write()) led = Lead(now, *secret);
  if (http::Usable(secret->kept.pair)) {
    ports_.present(secret->kept.pair);
  } else if (led.ok()) {
    return Error{Code::kUnavailable, "there is none yet, the leader makes it", ""};
  }
  return led;
}

Status WebhookCertificate::Lead(const Clocks& now, Secret& secret) {
  const Result<Configuration> configuration = ReadConfiguration();
  if (!configuration.ok()) return configuration.error();
  std::vector<std::string> hosts;
  for (const Webhook& webhook : configuration->webhooks) hosts.push_back(webhook.host);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  if (!configuration->Trusts(secret.kept.authorities)) bundled_.clear();
  const Result<KeptCertificate> next = Next(secret.kept, hosts, now);
  if (!next.ok()) return next.error();
  if (*next != secret.kept) {
    const Secret wanted{*next, secret.version};
    if (Status written = WriteSecret(wanted); !written.ok()) return written;
    const bool served = next->pair != secret.kept.pair;
    ports_.note(served ? "the webhook has a new certificate"
                       : "the authorities of the webhook's certificate have changed");
    secret.kept = *next;
  }
  const std::string& bundle = secret.kept.authorities;
  if (!configuration->Trusts(bundle)) {
    bundled_.clear();
    if (Status written = WriteBundle(*configuration, bundle); !written.ok()) return written;
  }
  if (bundled_ != bundle) bundled_since_ = now.steady;
  bundled_ = bundle;
  return Ok{};
}

bool WebhookCertificate::Configuration::Trusts(const std::string& authorities) const {
  return std::all_of(webhooks.begin(), webhooks.end(),
                     [&](const Webhook& webhook) { return webhook.bundle == authorities; });
}

Status WebhookCertificate::MakeInto(const std::vector<std::string>& hosts, Time wall,
                                    KeptCertificate& kept, CertificatePair& pair) const {
  Result<http::ServingCertificate> made = http::MakeServingCertificate(
      {hosts, kAuthorityName, SecondsOf(Time(wall.milliseconds() - kSkew.value())),
       SecondsOf(wall + options_.life)});
  if (!made.ok()) return made.error();
  kept.authorities = Living(kept.authorities + made->authority, SecondsOf(wall));
  pair = std::move(made->pair);
  return Ok{};
}

Result<KeptCertificate> WebhookCertificate::Next(const KeptCertificate& kept,
                                                 const std::vector<std::string>& hosts,
                                                 const Clocks& now) const {
  const std::chrono::sys_seconds at = SecondsOf(now.wall);
  KeptCertificate next = kept;
  next.authorities = Living(kept.authorities, at);
  const std::optional<http::CertificateTerm> term = TermOf(kept.pair, hosts, at);
  if (!term || next.authorities.empty()) {
    next.next = {};
    if (Status made = MakeInto(hosts, now.wall, next, next.pair); !made.ok()) return made.error();
    return next;
  }
  if (!IsOld(*term, at)) return next;
  if (!TermOf(kept.next, hosts, at)) {
    if (Status made = MakeInto(hosts, now.wall, next, next.next); !made.ok()) return made.error();
  } else if (bundled_ == kept.authorities && now.steady - bundled_since_ >= options_.settle) {
    next.pair = std::exchange(next.next, {});
  }
  return next;
}

Result<WebhookCertificate::Secret> WebhookCertificate::ReadSecret() const {
  const std::string name = "Secret " + options_.secret.ToString();
  const Result<std::string> body =
      Ask(RequestFor(Method::kGet, "/api/v1/namespaces/" + options_.secret.ns + "/secrets/" +
                                       options_.secret.name),
          name);
  if (!body.ok()) return body.error();
  const Result<Json> json = Json::Parse(*body, kMaxObjectBytes, name);
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView object(json->root(), name, problems);
  const JsonView metadata = object.Get("metadata");
  const JsonView version = metadata.Get("resourceVersion");
  const JsonView data = object.Get("data");
  Secret secret;
  secret.version = version.RequiredText();
  secret.kept = {Decoded(data, "ca.crt"),
                 {Decoded(data, "tls.crt"), Decoded(data, "tls.key")},
                 {Decoded(data, "next.crt"), Decoded(data, "next.key")}};
  if (!problems.none()) return problems.first();
  return secret;
}

Status WebhookCertificate::WriteSecret(const Secret& secret) const {
  ApiRequest request = RequestFor(Method::kPatch, "/api/v1/namespaces/" + options_.secret.ns +
                                                      "/secrets/" + options_.secret.name);
  request.content_type = "application/merge-patch+json";
  request.permit = ports_.may_write;
  request.metadata_only = true;
  const KeptCertificate& kept = secret.kept;
  JsonWriter json(request.body);
  json.BeginObject().Key("metadata").BeginObject();
  json.Key("resourceVersion").Text(secret.version).EndObject().Key("data").BeginObject();
  const auto field = [&](const char* key, const std::string& text) {
    json.Key(key);
    text.empty() ? json.Null() : json.Text(http::EncodeBase64(text));
  };
  field("ca.crt", kept.authorities);
  field("tls.crt", kept.pair.certificate);
  field("tls.key", kept.pair.key);
  field("next.crt", kept.next.certificate);
  field("next.key", kept.next.key);
  json.EndObject().EndObject();
  const std::string name = "Secret " + options_.secret.ToString();
  const Result<std::string> body = Ask(request, name);
  return body.ok() ? Status(Ok{}) : Status(body.error());
}

Result<WebhookCertificate::Configuration> WebhookCertificate::ReadConfiguration() const {
  const std::string name = "MutatingWebhookConfiguration " + options_.configuration;
  const Result<std::string> body =
      Ask(RequestFor(Method::kGet,
                     "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" +
                         options_.configuration),
          name);
  if (!body.ok()) return body.error();
  const Result<Json> json = Json::Parse(*body, kMaxObjectBytes, name);
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView object(json->root(), name, problems);
  const JsonView metadata = object.Get("metadata");
  const JsonView version = metadata.Get("resourceVersion");
  const JsonView webhooks = object.Get("webhooks");
  Configuration configuration;
  configuration.version = version.RequiredText();
  webhooks.Items([&](const JsonView& webhook) {
    const JsonView own_name = webhook.Get("name");
    const JsonView client = webhook.Get("clientConfig");
    std::string host = HostOf(client);
    if (host.empty()) client.Problem("expected a service or a url");
    configuration.webhooks.push_back(
        {std::string(own_name.RequiredText()), std::move(host), Decoded(client, "caBundle")});
  });
  if (!problems.none()) return problems.first();
  if (configuration.webhooks.empty())
    return Error{Code::kInvalidArgument, "expected webhooks, found none", name};
  return configuration;
}

Status WebhookCertificate::WriteBundle(const Configuration& configuration,
                                       const std::string& bundle) const {
  ApiRequest request = RequestFor(
      Method::kPatch, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" +
                          options_.configuration);
  // Webhooks are merged by their names.
  request.content_type = "application/strategic-merge-patch+json";
  request.permit = ports_.may_write;
  request.metadata_only = true;
  JsonWriter json(request.body);
  json.BeginObject().Key("metadata").BeginObject();
  json.Key("resourceVersion").Text(configuration.version).EndObject();
  json.Key("webhooks").BeginArray();
  for (const Webhook& webhook : configuration.webhooks) {
    json.BeginObject().Key("name").Text(webhook.name).Key("clientConfig").BeginObject();
    json.Key("caBundle").Text(http::EncodeBase64(bundle)).EndObject().EndObject();
  }
  json.EndArray().EndObject();
  const std::string name = "MutatingWebhookConfiguration " + options_.configuration;
  const Result<std::string> body = Ask(request, name);
  return body.ok() ? Status(Ok{}) : Status(body.error());
}

}  // namespace muster::kube
