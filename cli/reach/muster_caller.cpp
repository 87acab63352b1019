#include "cli/reach/muster_caller.hpp"

#include <algorithm>
#include <utility>

#include "cli/tables/output.hpp"
#include "config/file.hpp"

namespace muster::cli {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr std::size_t kMaxTokenBytes = std::size_t{64} << 10U;

}  // namespace

Code CodeOfStatus(int status) {
  if (status == 404) return Code::kNotFound;
  // Whoever was asked has nobody who answers right now.
  return status >= 502 && status <= 504 ? Code::kUnavailable : Code::kInvalidArgument;
}

Result<std::string> AnswerOf(const std::string& place, int status, const std::string& body) {
  const bool success = status >= 200 && status < 300;
  // All of Muster's answers are JSON objects. Looked at is where they begin: some are large.
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (success && begin != std::string::npos && body[begin] == '{') return body;
  std::string message = success ? std::string() : ServerMessage(body);
  if (!message.empty()) return Error{CodeOfStatus(status), std::move(message), ""};
  // Who is not Muster cannot say either that Muster has no such object.
  const Code code = status == 404 ? Code::kInvalidArgument : CodeOfStatus(status);
  return Error{code,
               place + " answered " + std::to_string(status) +
                   ", which is not Muster's answer; is a proxy in between?",
               ""};
}

Result<std::string> TokenIn(const Args& args) {
  if (!args.Has("--token-file")) return std::string();
  const Result<std::string> text = config::ReadFile(args.Text("--token-file"), kMaxTokenBytes);
  if (!text.ok()) return text.error();
  const std::string token = text->substr(0, text->find_last_not_of(" \t\r\n") + 1);
  const bool printable =
      std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (token.empty() || !printable)
    return Error{Code::kInvalidArgument, "expected a file with one bearer token", "--token-file"};
  return token;
}

}  // namespace muster::cli
