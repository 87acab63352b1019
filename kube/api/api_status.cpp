#include "kube/api/api_status.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/base/result.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {
namespace {

using cluster::Result;

constexpr std::size_t kMaxStatusBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxLine = 512;
constexpr std::size_t kMaxCauses = 3;  // that are quoted

struct Cause {
  std::string reason;
  std::string message;
  std::string field;
};

struct StatusObject {
  std::string reason;
  std::string message;
  std::vector<Cause> causes;
};

std::optional<StatusObject> ReadStatus(const ApiReply& reply) {
  Result<Json> json = Json::Parse(reply.body, kMaxStatusBytes, "Status");
  if (!json.ok()) return std::nullopt;
  JsonProblems problems;  // what is odd is left out
  const JsonView root(json->root(), "Status", problems);
  if (!root.ExpectObject() || root.Get("kind").Text() != "Status") return std::nullopt;
  StatusObject status;
  status.reason = root.Get("reason").Text();
  status.message = root.Get("message").Text();
  const JsonView details = root.Get("details");
  const JsonView causes = details.Get("causes");
  causes.Items([&](const JsonView& cause) {
    status.causes.push_back({std::string(cause.Get("reason").Text()),
                             std::string(cause.Get("message").Text()),
                             std::string(cause.Get("field").Text())});
  });
  return status;
}

void HideTokens(std::string& line) {
  constexpr std::string_view kBearer = "earer ";  // in either case
  for (std::size_t at = line.find(kBearer); at != std::string::npos; at = line.find(kBearer, at)) {
    at += kBearer.size();
    const std::size_t end = std::min(line.find_first_of(" \",;)", at), line.size());
    line.replace(at, end - at, "...");
  }
}

// At most kMaxLine bytes of printable text, cut between characters.
std::string OneLine(std::string line) {
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  HideTokens(line);
  if (line.size() <= kMaxLine) return line;
  constexpr std::string_view kCut = "...";
  std::size_t end = kMaxLine - kCut.size();
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return line.substr(0, end).append(kCut);
}

}  // namespace

std::string StatusReason(const ApiReply& reply) {
  std::optional<StatusObject> status = ReadStatus(reply);
  return status ? std::move(status->reason) : std::string();
}

bool HasStatusCause(const ApiReply& reply, const std::string& cause) {
  const std::optional<StatusObject> status = ReadStatus(reply);
  if (!status) return false;
  for (const Cause& each : status->causes) {
    if (each.reason == cause) return true;
  }
  return false;
}

std::string DescribeReply(const ApiReply& reply) {
  std::string line = "HTTP " + std::to_string(reply.status);
  const std::optional<StatusObject> status = ReadStatus(reply);
  if (!status) return line;
  if (!status->reason.empty()) line += " " + status->reason;
  if (!status->message.empty()) line += ": " + status->message;
  std::string causes;
  for (std::size_t i = 0; i < status->causes.size() && i < kMaxCauses; ++i) {
    const Cause& cause = status->causes[i];
    const std::string& what = cause.message.empty() ? cause.reason : cause.message;
    // The message of most already holds what they say.
    if (what.empty() || status->message.find(what) != std::string::npos) continue;
    causes += (causes.empty() ? "" : "; ") + (cause.field.empty() ? "" : cause.field + ": ") + what;
  }
  if (!causes.empty()) line += " (" + causes + ")";
  return OneLine(std::move(line));
}

}  // namespace muster::kube
