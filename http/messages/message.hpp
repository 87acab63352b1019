// Request and Response: what handlers see of HTTP.
//
// Plain values. The server has already refused everything that is not one well-formed request
// within its limits (see head.hpp); a handler only looks at method, path and body. Handlers
// run on any of the server's threads, several at once.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::http {

struct Request {
  std::string method;                        // upper case, e.g. "POST"
  std::string path;                          // percent-decoded, without the query; starts with '/'
  std::map<std::string, std::string> query;  // percent-decoded; of a repeated key the first value
  std::string body;                          // complete, never compressed
  std::string content_type;                  // as sent, may be empty
  std::string peer;                          // the caller's IP address
  std::string client_name;  // verified name in the caller's certificate; empty without mTLS
  std::vector<std::string> client_organisations;             // the same, of the subject's O
  bool tls = false;                                          // it came over TLS
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The first value of a header (name in lower case), empty when absent.
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

struct Response {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  bool close = false;  // close the connection after this answer
  std::map<std::string, std::string> headers =
      {};  // further headers; a value with CR or LF is dropped
};

// Has one of the server's threads while it runs: one that would wait is a LaterHandler. An
// exception that leaves it becomes a 500 without details.
using Handler = std::function<Response(const Request&)>;

// Takes the answer, from any thread, before the handler returns or later. The first call counts;
// when all copies are gone without one, the client receives "internal error". May be called after
// the server's end.
using Done = std::function<void(Response)>;
// The request is the handler's until it returns. Exceptions: as above.
using LaterHandler = std::function<void(const Request&, Done)>;

// A..Z become a..z, nothing else: names of HTTP are ASCII.
std::string LowerCase(std::string_view text);

// {"error": "<message>"} with the given status.
Response ErrorResponse(int status, std::string_view message);

}  // namespace muster::http
