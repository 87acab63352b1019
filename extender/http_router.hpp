// HttpRouter: which handler answers a method and a path.
//
// Filled before the server starts, immutable afterwards; then any thread may look up.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "extender/http_message.hpp"

namespace muster::extender {

class HttpRouter {
 public:
  // See HttpServer::Handle. A second handler for the same method and path replaces the first.
  void Add(const std::string& method, const std::string& path, HttpHandler handler);

  // The handler's answer, or 404, or 405 with Allow.
  HttpResponse Route(const HttpRequest& request) const;

 private:
  using Methods = std::map<std::string, HttpHandler, std::less<>>;

  const Methods* Find(std::string_view path) const;

  std::map<std::string, Methods, std::less<>> exact_;
  std::map<std::string, Methods, std::greater<>>
      prefixes_;  // without '*'; longer ones first among nested
};

}  // namespace muster::extender
