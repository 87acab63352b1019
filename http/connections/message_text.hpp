// What handlers see of a request, and HTTP/1.1's text of their answers. Heads of requests are read
// in head.hpp; HTTP/2 needs no text.
//
// Pure functions; any thread.
#pragma once

#include <chrono>
#include <string>

#include "http/connections/server_connection.hpp"
#include "http/messages/message.hpp"

namespace muster::http {

// Of either protocol.
Request ToRequest(IncomingRequest incoming);

struct AnswerForm {
  bool close = false;                // says `Connection: close`
  bool to_head = false;              // the length of the body, not the bytes
  std::chrono::milliseconds idle{};  // without `close`: how long the connection stays open
};

// Header fields that would break the head are left out.
std::string FormatAnswer(Response response, const AnswerForm& form);

// The complete answer to a request that never reaches a handler; says `Connection: close`.
std::string FormatRefusal(const Refusal& refusal);

}  // namespace muster::http
