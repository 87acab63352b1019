#include "kube/owner_reader.hpp"

#include <memory>
#include <utility>

#include "kube/api_status.hpp"
#include "kube/http_status.hpp"

namespace muster::kube {

namespace {

// An object of an API server is at most 1.5 MiB in etcd, unless its operator allows more.
constexpr size_t kMaxOwnerBytes = size_t{4} << 20;

}  // namespace

OwnerAnswer ReadOwner(ApiCaller& api, const OwnerRequest& request) {
  using Kind = OwnerAnswer::Kind;
  ApiRequest call;
  call.lane = Lane::kList;
  call.path = request.path;
  const cluster::Result<ApiReply> reply = api.Call(call);
  if (!reply.ok()) return {Kind::kFailed, nullptr, reply.error().ToString()};
  if (reply->ok()) {
    cluster::Result<Json> json = Json::Parse(reply->body, kMaxOwnerBytes, request.key.kind);
    if (!json.ok()) return {Kind::kFailed, nullptr, json.error().ToString()};
    return {Kind::kRead, std::make_shared<const Json>(*std::move(json)), {}};
  }
  // Of a kind that is not served the server says that without a reason.
  if (reply->status == kHttpNotFound && StatusReason(*reply) == "NotFound")
    return {Kind::kGone, nullptr, {}};
  const bool refused = reply->status == kHttpNotFound || reply->status == kHttpForbidden;
  return {refused ? Kind::kRefused : Kind::kFailed, nullptr, DescribeReply(*reply)};
}

}  // namespace muster::kube
