#include "kube/owner_reader.hpp"

#include <memory>
#include <utility>

#include "kube/api_status.hpp"
#include "kube/http_status.hpp"
#include "kube/json_view.hpp"
#include "kube/json_writer.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

// An object of an API server is at most 1.5 MiB in etcd, unless its operator allows more.
constexpr size_t kMaxOwnerBytes = size_t{4} << 20;

// Who wrote which field is often half of an object, and says nothing about gangs.
void CopyWithout(const JsonView& object, std::string_view left_out, JsonWriter& json) {
  object.Members([&](std::string_view name, const JsonView& member) {
    if (name == left_out) return;
    std::string text;
    member.AppendTo(text);
    json.TextKey(name).Raw(text);
  });
}

Result<Json> Trimmed(Json whole, const std::string& kind) {
  JsonProblems ignored;
  const JsonView object(whole.root(), kind, ignored);
  const JsonView metadata = object.Get("metadata");
  if (!metadata.Get("managedFields").present()) return whole;
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  CopyWithout(object, "metadata", json);
  json.Key("metadata").BeginObject();
  CopyWithout(metadata, "managedFields", json);
  json.EndObject().EndObject();
  return Json::Parse(text, kMaxOwnerBytes, kind);
}

// As rules of RBAC name it: "jobs of group batch".
std::string ResourceInRules(const OwnerRequest& request) {
  const std::string_view path = request.path;
  const size_t name = path.rfind('/');
  const size_t begin = name == std::string_view::npos ? name : path.rfind('/', name - 1);
  if (begin == std::string_view::npos) return request.key.kind;
  return std::string(path.substr(begin + 1, name - begin - 1)) + " of group " + request.key.group();
}

}  // namespace

OwnerAnswer ReadOwner(ApiCaller& api, const OwnerRequest& request) {
  using Kind = OwnerAnswer::Kind;
  ApiRequest call;
  call.lane = Lane::kOwner;
  call.path = request.path;
  const Result<ApiReply> reply = api.Call(call);
  if (!reply.ok()) return {Kind::kFailed, nullptr, reply.error().ToString()};
  if (reply->ok()) {
    Result<Json> json = Json::Parse(reply->body, kMaxOwnerBytes, request.key.kind);
    if (json.ok()) json = Trimmed(*std::move(json), request.key.kind);
    if (!json.ok()) return {Kind::kFailed, nullptr, json.error().ToString()};
    return {Kind::kRead, std::make_shared<const Json>(*std::move(json)), {}};
  }
  // Of a kind that is not served the server says that without a reason.
  if (reply->status == kHttpNotFound && StatusReason(*reply) == "NotFound")
    return {Kind::kGone, nullptr, {}};
  if (reply->status == kHttpForbidden)
    return {Kind::kRefused, nullptr, "Muster lacks the right to get " + ResourceInRules(request)};
  if (reply->status == kHttpNotFound)
    return {Kind::kRefused, nullptr, "the API server does not serve " + ResourceInRules(request)};
  return {Kind::kFailed, nullptr, DescribeReply(*reply)};
}

}  // namespace muster::kube
