#include "kube/owners/owner_reader.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kube/api/api_status.hpp"
#include "kube/api/http_status.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

using Kind = OwnerAnswer::Kind;

OwnerAnswer TooLarge(const std::string& what) {
  return {Kind::kTooLarge, {}, what + "; make it smaller, or give its pods a PodGroup"};
}

// One owner that arrives in pieces.
class OwnerSieve {
 public:
  OwnerSieve(const OwnerFields& fields, std::string_view kind)
      : kind_(kind),
        sieve_({.root = {.kind = Kept::Kind::kElement},
                .element = fields.kept(),
                .name = kind_,
                .largest_member = kMostKeptOfMember,
                .most = kMostKeptOfOwner},
               [this](std::string_view text, const Error* left_out) {
                 text_ = text;
                 if (left_out != nullptr) left_out_ = *left_out;
                 return true;
               }) {}

  bool Feed(std::string_view bytes) {
    read_ += bytes.size();
    if (read_ > kMostReadOfOwner || !sieve_.Feed(bytes)) return false;
    trails_ = trails_ || bytes.find_first_not_of(" \t\r\n") != std::string_view::npos;
    return true;
  }
  OwnerAnswer End() {
    if (read_ > kMostReadOfOwner)
      return TooLarge(kind_ + ": is larger than " + std::to_string(kMostReadOfOwner) + " bytes");
    if (!sieve_.End()) {
      const Error& problem = *sieve_.problem();
      if (problem.code == Code::kExhausted) return TooLarge(problem.ToString());
      return {Kind::kFailed, {}, problem.ToString()};
    }
    if (trails_) return {Kind::kFailed, {}, kind_ + ": expected nothing after the JSON value"};
    if (left_out_) return TooLarge(left_out_->ToString());
    Result<Json> json = Json::Parse(text_, kMostKeptOfOwner, kind_);
    if (!json.ok()) return {Kind::kFailed, {}, json.error().ToString()};
    text_.shrink_to_fit();
    return {Kind::kRead, {std::move(text_), std::make_shared<const Json>(*std::move(json))}, {}};
  }

 private:
  const std::string kind_;
  std::string text_;
  std::optional<Error> left_out_;
  size_t read_ = 0;
  bool trails_ = false;  // something follows the object
  JsonSieve sieve_;
};

// As rules of RBAC name it: "jobs of group batch".
std::string ResourceInRules(const OwnerRequest& request) {
  const std::string_view path = request.path;
  const size_t name = path.rfind('/');
  const size_t begin = name == std::string_view::npos ? name : path.rfind('/', name - 1);
  if (begin == std::string_view::npos) return request.key.kind;
  return std::string(path.substr(begin + 1, name - begin - 1)) + " of group " + request.key.group();
}

}  // namespace

OwnerAnswer SiftOwner(std::string_view text, const OwnerFields& fields, std::string_view kind) {
  OwnerSieve sieve(fields, kind);
  sieve.Feed(text);
  return sieve.End();
}

OwnerAnswer ReadOwner(ApiCaller& api, const OwnerRequest& request) {
  OwnerSieve sieve(*request.fields, request.key.kind);
  ApiRequest call;
  call.lane = Lane::kOwner;
  call.path = request.path;
  call.take = [&](std::string_view bytes) { return sieve.Feed(bytes); };
  const Result<ApiReply> reply = api.Call(call);
  if (!reply.ok()) return {Kind::kFailed, {}, reply.error().ToString()};
  if (reply->ok()) return sieve.End();
  // Of a kind that is not served the server says that without a reason.
  if (reply->status == kHttpNotFound && StatusReason(*reply) == "NotFound")
    return {Kind::kGone, {}, {}};
  if (reply->status == kHttpForbidden)
    return {Kind::kRefused, {}, "Muster lacks the right to get " + ResourceInRules(request)};
  if (reply->status == kHttpNotFound)
    return {Kind::kRefused, {}, "the API server does not serve " + ResourceInRules(request)};
  return {Kind::kFailed, {}, DescribeReply(*reply)};
}

}  // namespace muster::kube
