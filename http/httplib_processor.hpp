// HttplibProcessor: cpp-httplib's request processing between our validated bytes and our handlers.
//
// A processor derives from httplib::Server for its protected process_request() and feeds it from
// memory; no socket is ever opened by the library. It is given only the request line and
// `Connection` (no Range, Accept-Encoding, Expect, multipart: nothing that would make it compress,
// slice or buffer), and it answers through the pre-routing hook, before it would read a body or
// match regular expressions. It knows no HTTP/2: for a request of that, what it would write is
// thrown away and the handler's answer handed on as it is. One processor per worker thread, not
// shared.
#pragma once

#include <memory>
#include <string>

#include "http/router.hpp"
#include "http/server_connection.hpp"

namespace muster::http {

class HttplibProcessor {
 public:
  HttplibProcessor(const Router& router, ServerShared& shared);
  ~HttplibProcessor();
  HttplibProcessor(const HttplibProcessor&) = delete;
  HttplibProcessor& operator=(const HttplibProcessor&) = delete;

  // Runs the handler.
  Answer Process(IncomingRequest request);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The complete answer to a request that never reaches a handler; says `Connection: close`.
std::string FormatRefusal(const Refusal& refusal);

}  // namespace muster::http
