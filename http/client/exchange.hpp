// One HTTP/1.1 request and its answer over a ClientConnection. Boost.Beast parses the answer, zlib
// unpacks its body; bytes, time and limits are ours. Pure of state: threads share nothing but what
// they pass.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/base/result.hpp"
#include "http/client/client_connection.hpp"

namespace muster::http {

struct ClientRequest {
  const char* method = "GET";
  std::string target;                                        // as it stands in the request line
  std::vector<std::pair<std::string, std::string>> headers;  // Host among them
  std::string body = {};
  // Of the answer, unpacked. More is refused.
  std::size_t max_body = std::size_t{256} << 20;
  // Takes the body of a 200 piece by piece instead of the reply; false ends the exchange.
  std::function<bool(std::string_view)> take = {};
};

struct Exchanged {
  // kUnavailable  no complete answer: closed, timeout, cancelled
  // kIo           TLS refused, or what came is no HTTP
  // kExhausted    the answer is larger than max_body
  std::optional<cluster::Error> error;
  int status = 0;    // without error
  std::string body;  // unless `take` had it
  // Of a 429 or 503 that says so; capped, see retry_after.hpp.
  std::optional<std::chrono::milliseconds> retry_after;
  std::optional<std::chrono::sys_seconds> date;  // the server's time, where it says it
  bool reusable = false;                         // the connection may carry another request
  bool nothing_sent = false;                     // not a byte of the request left us
  bool closed_unanswered = false;                // it was closed before a byte of an answer came
  bool silent = false;  // the time was over before a byte of an answer came
};

// Never throws. Headers must not hold line ends; requests with such are refused.
Exchanged Exchange(ClientConnection& connection, const ClientRequest& request,
                   const CallLimits& limits);

}  // namespace muster::http
