// One HTTP/1.1 request and its answer over a Connection. cpp-httplib writes the one and parses the
// other; bytes, time and limits are ours. Pure of state: threads share nothing but what they pass.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/result.hpp"
#include "kube/api_caller.hpp"
#include "kube/connection.hpp"

namespace muster::kube {

struct HttpRequest {
  const char* method = "GET";
  std::string target;                                        // as it stands in the request line
  std::vector<std::pair<std::string, std::string>> headers;  // Host among them
  std::string body = {};
  // Of the answer, unpacked. More is refused.
  std::size_t max_body = std::size_t{256} << 20;
  // Takes the body of a 200 piece by piece instead of the reply; false ends the exchange.
  std::function<bool(std::string_view)> take = {};
};

struct HttpOutcome {
  // kUnavailable  no complete answer: closed, timeout, cancelled
  // kIo           TLS refused, or what came is no HTTP
  // kExhausted    the answer is larger than max_body
  std::optional<cluster::Error> error;
  ApiReply reply;                  // without error
  bool reusable = false;           // the connection may carry another request
  bool nothing_sent = false;       // not a byte of the request left us
  bool closed_unanswered = false;  // it was closed before a byte of an answer came
  bool silent = false;             // the time was over before a byte of an answer came
};

// Never throws. Headers must not hold line ends; requests with such are refused.
HttpOutcome Exchange(Connection& connection, const HttpRequest& request, const Patience& patience);

}  // namespace muster::kube
