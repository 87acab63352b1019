#include "kube/refusal.hpp"

#include <algorithm>
#include <string>

#include "kube/json.hpp"
#include "kube/json_view.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr size_t kMaxStatusBytes = 64 * 1024;
constexpr size_t kShown = 400;

Code CodeOf(int status) {
  if (status == 404 || status == 410) return Code::kNotFound;
  if (status == 409) return Code::kConflict;
  if (status == 401 || status == 403) return Code::kForbidden;
  if (status == 408 || status == 429 || (status >= 500 && status < 600)) return Code::kUnavailable;
  return status >= 400 && status < 500 ? Code::kInvalidArgument : Code::kInternal;
}

// Of a Status object; otherwise the body as it is: a proxy on the way answers in plain text.
std::string MessageOf(const std::string& body) {
  const Result<Json> json = Json::Parse(body, kMaxStatusBytes, "Status");
  if (!json.ok()) return body;
  JsonProblems problems;
  const JsonView status(json->root(), "Status", problems);
  const std::string message(status.Get("message").Text());
  return message.empty() ? std::string(status.Get("reason").Text()) : message;
}

}  // namespace

Error ErrorOf(const ApiReply& reply) {
  std::string message = MessageOf(reply.body);
  message.resize(std::min({message.size(), message.find_first_of("\r\n"), kShown}));
  return {CodeOf(reply.status),
          "HTTP " + std::to_string(reply.status) + (message.empty() ? "" : ": " + message), ""};
}

}  // namespace muster::kube
