// Router: which handler answers a method and a path.
//
// Filled before the server starts, immutable afterwards; then any thread may look up.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "http/messages/message.hpp"

namespace muster::http {

class Router {
 public:
  // See Server::Handle. A second handler for the same method and path replaces the first.
  void Add(const std::string& method, const std::string& path, LaterHandler handler);

  // Answers by the handler, or 404, or 405 with Allow.
  void Route(const Request& request, Done done) const;

 private:
  using Methods = std::map<std::string, LaterHandler, std::less<>>;

  const Methods* Find(std::string_view path) const;

  std::map<std::string, Methods, std::less<>> exact_;
  std::map<std::string, Methods, std::greater<>>
      prefixes_;  // without '*'; longer ones first among nested
};

}  // namespace muster::http
