#include "kube/admission/access_review.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "http/messages/base64.hpp"
#include "kube/api/refusal.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using cluster::Time;

namespace {

constexpr size_t kMaxAccessBytes = size_t{1} << 20;

// The reply of a review that was created, or why it was not.
Result<std::string> Create(ApiCaller& api, const std::string& path, std::string body) {
  ApiRequest request;
  request.method = Method::kPost;
  request.lane = Lane::kReview;
  request.path = path;
  request.body = std::move(body);
  const Result<ApiReply> reply = api.Call(request);
  if (!reply.ok()) {
    return Error{Code::kUnavailable,
                 "the API server cannot be asked who may do this, nothing is done: " +
                     reply.error().ToString(),
                 ""};
  }
  if (reply->ok()) return reply->body;
  const Error error = ErrorOf(*reply);
  const bool no_right = error.code == Code::kForbidden;
  return Error{
      Code::kUnavailable,
      no_right ? "Muster may not ask the API server who may do this: give its service "
                 "account create on tokenreviews and subjectaccessreviews "
                 "(ClusterRole system:auth-delegator). " +
                     error.message
               : "the API server did not say who may do this, nothing is done: " + error.message,
      ""};
}

std::vector<std::string> TextsOf(const JsonView& list) {
  std::vector<std::string> texts;
  list.Items([&](const JsonView& one) { texts.emplace_back(one.Text()); });
  return texts;
}

bool Contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

Error Refused(const std::string& audience, const std::string& why) {
  const std::string option = audience.empty() ? "" : " --audience " + audience;
  return {Code::kForbidden, why + ", take another (kubectl create token" + option + ")", ""};
}

Result<TokenUser> ReadUser(const std::string& body, const std::string& audience) {
  const Result<Json> json = Json::Parse(body, kMaxAccessBytes, "TokenReview");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView review(json->root(), "TokenReview", problems);
  const JsonView status = review.Get("status");
  TokenUser found;
  const JsonView user = status.Get("user");
  found.name = user.Get("username").Text();
  found.uid = user.Get("uid").Text();
  const JsonView groups = user.Get("groups");
  found.groups = TextsOf(groups);
  const JsonView extra = user.Get("extra");
  extra.Members(
      [&](std::string_view key, const JsonView& list) { found.extra.emplace(key, TextsOf(list)); });
  const bool authenticated = status.Get("authenticated").Flag(false);
  // An API server that knows no audiences names none, and has not looked whom the token is for.
  const std::vector<std::string> audiences = TextsOf(status.Get("audiences"));
  const bool meant = audience.empty() || Contains(audiences, audience);
  if (!problems.none()) return problems.first();
  if (authenticated && meant && !found.name.empty()) return found;
  return Refused(audience, "the API server does not know the bearer token" +
                               (audience.empty() ? "" : " as one for " + audience) +
                               ": it may have expired");
}

// Seconds since 1970, perhaps with a fraction (RFC 7519, 2). What is written in another way says
// nothing.
std::optional<Time> DateOf(const std::string& text) {
  int64_t seconds = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, seconds);
  const bool whole =
      end == last ||
      (*end == '.' && std::all_of(end + 1, last, [](char c) { return c >= '0' && c <= '9'; }));
  constexpr int64_t kMostDate = int64_t{1} << 40U;
  if (error != std::errc() || !whole || seconds < 0 || seconds > kMostDate) return std::nullopt;
  return Time(seconds * 1'000);
}

}  // namespace

// HEADER.PAYLOAD.SIGNATURE, each Base64 for URLs without padding (RFC 7519); `aud` of the payload
// is a text or a list of them.
std::optional<TokenClaims> ReadClaims(const std::string& token) {
  const size_t begin = token.find('.');
  const size_t end = begin == std::string::npos ? begin : token.find('.', begin + 1);
  if (end == std::string::npos || token.find('.', end + 1) != std::string::npos)
    return std::nullopt;
  std::string payload = token.substr(begin + 1, end - begin - 1);
  std::replace(payload.begin(), payload.end(), '-', '+');
  std::replace(payload.begin(), payload.end(), '_', '/');
  payload.append((4 - payload.size() % 4) % 4, '=');
  const std::optional<std::string> text = http::DecodeBase64(payload);
  if (!text) return std::nullopt;
  const Result<Json> json = Json::Parse(*text, kMaxAccessBytes, "token");
  if (!json.ok()) return std::nullopt;
  JsonProblems problems;
  const JsonView claims(json->root(), "token", problems);
  if (!claims.object()) return std::nullopt;
  TokenClaims found;
  const JsonView meant = claims.Get("aud");
  if (meant.text()) {
    found.audiences.emplace_back(meant.Text());
  } else if (meant.list()) {
    found.audiences = TextsOf(meant);
  }
  const JsonView expires = claims.Get("exp");
  if (!expires.text() && !expires.list() && !expires.object())
    found.expires = DateOf(expires.ScalarText());
  return found;
}

bool IsMeantFor(const std::string& token, const std::string& audience) {
  const std::optional<TokenClaims> claims = ReadClaims(token);
  return claims && Contains(claims->audiences, audience);
}

std::string AccessReviewer::RefusedUnasked(const std::string& token,
                                           const std::string& audience) const {
  const std::optional<TokenClaims> claims = ReadClaims(token);
  if (!claims) return {};
  if (claims->expires && *claims->expires + options_.clocks_differ < ports_.now().wall)
    return "the bearer token has expired";
  const bool meant =
      audience.empty() || claims->audiences.empty() || Contains(claims->audiences, audience);
  return meant ? "" : "the bearer token is not one for " + audience;
}

std::string WriteSubjectAccessReview(const TokenUser& user, const AccessAttributes& access) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Key("apiVersion").Text("authorization.k8s.io/v1");
  json.Key("kind").Text("SubjectAccessReview").Key("spec").BeginObject();
  json.Key("user").Text(user.name);
  if (!user.uid.empty()) json.Key("uid").Text(user.uid);
  json.Key("groups").BeginArray();
  for (const std::string& group : user.groups) json.Text(group);
  json.EndArray().Key("extra").BeginObject();
  for (const auto& [key, values] : user.extra) {
    json.TextKey(key).BeginArray();
    for (const std::string& value : values) json.Text(value);
    json.EndArray();
  }
  json.EndObject().Key("resourceAttributes").BeginObject();
  if (!access.ns.empty()) json.Key("namespace").Text(access.ns);
  json.Key("verb").Text(access.verb).Key("group").Text(access.group);
  json.Key("resource").Text(access.resource).Key("subresource").Text(access.subresource);
  json.Key("name").Text(access.name).EndObject().EndObject().EndObject();
  return body;
}

Result<bool> ReadSubjectAccessReview(const std::string& body) {
  const Result<Json> json = Json::Parse(body, kMaxAccessBytes, "SubjectAccessReview");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView review(json->root(), "SubjectAccessReview", problems);
  const JsonView status = review.Get("status");
  const bool allowed = status.Get("allowed").Flag(false) && !status.Get("denied").Flag(false);
  if (!problems.none()) return problems.first();
  return allowed;
}

std::string ToString(const AccessAttributes& access) {
  std::string text = access.verb + " " + access.resource;
  if (!access.subresource.empty()) text += "/" + access.subresource;
  if (!access.group.empty()) text += "." + access.group;
  if (!access.name.empty()) text += " \"" + access.name + "\"";
  if (!access.ns.empty()) text += " in namespace " + access.ns;
  return text;
}

template <typename Key, typename Answer>
void AccessReviewer::Keep(std::map<Key, Kept<Answer>>& kept, const Key& key, Answer answer) {
  const Time now = ports_.now().steady;
  std::erase_if(kept, [&](const auto& entry) { return entry.second.until <= now; });
  if (kept.size() >= options_.most) kept.clear();
  kept.insert_or_assign(key, Kept<Answer>{std::move(answer), now + options_.remember});
}

Result<TokenUser> AccessReviewer::WhoHas(const std::string& token, const std::string& audience) {
  if (const std::string why = RefusedUnasked(token, audience); !why.empty())
    return Refused(audience, why);
  const std::pair key(audience, token);
  {
    const MutexLock lock(mu_);
    const auto known = users_.find(key);
    if (known != users_.end() && known->second.until > ports_.now().steady)
      return known->second.answer;
  }
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Key("apiVersion").Text("authentication.k8s.io/v1");
  json.Key("kind").Text("TokenReview").Key("spec").BeginObject();
  json.Key("token").Text(token);
  if (!audience.empty()) json.Key("audiences").BeginArray().Text(audience).EndArray();
  json.EndObject().EndObject();
  const Result<std::string> reply =
      Create(ports_.api, "/apis/authentication.k8s.io/v1/tokenreviews", std::move(body));
  if (!reply.ok()) return reply.error();
  Result<TokenUser> user = ReadUser(*reply, audience);
  if (!user.ok() && user.error().code != Code::kForbidden) return user;
  const MutexLock lock(mu_);
  Keep(users_, key, user);
  return user;
}

Status AccessReviewer::May(const TokenUser& user, const AccessAttributes& access) {
  const std::pair key(user, access);
  {
    const MutexLock lock(mu_);
    const auto known = rights_.find(key);
    if (known != rights_.end() && known->second.until > ports_.now().steady)
      return known->second.answer;
  }
  const Result<std::string> reply =
      Create(ports_.api, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
             WriteSubjectAccessReview(user, access));
  if (!reply.ok()) return reply.error();
  const Result<bool> allowed = ReadSubjectAccessReview(*reply);
  if (!allowed.ok()) return allowed.error();
  Status answer = Ok{};
  if (!*allowed) {
    const bool reads = access.verb == "get" || access.verb == "list";
    answer = Error{Code::kForbidden,
                   user.name + " may not " + ToString(access) +
                       ": bind a Role or ClusterRole with that right (" +
                       (reads ? "manifests/oncall" : "manifests/samples/operators.yaml") + ")",
                   ""};
  }
  const MutexLock lock(mu_);
  Keep(rights_, key, answer);
  return answer;
}

}  // namespace muster::kube
