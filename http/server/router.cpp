#include "http/server/router.hpp"

#include <utility>

namespace muster::http {

void Router::Add(const std::string& method, const std::string& path, LaterHandler handler) {
  if (!path.empty() && path.back() == '*') {
    prefixes_[path.substr(0, path.size() - 1)][method] = std::move(handler);
  } else {
    exact_[path][method] = std::move(handler);
  }
}

const Router::Methods* Router::Find(std::string_view path) const {
  if (const auto found = exact_.find(path); found != exact_.end()) return &found->second;
  // In descending order a string comes before its own prefixes, so the first match is the longest.
  for (const auto& [prefix, methods] : prefixes_) {
    if (path.substr(0, prefix.size()) == prefix) return &methods;
  }
  return nullptr;
}

void Router::Route(const Request& request, Done done) const {
  const Methods* methods = Find(request.path);
  if (methods == nullptr) return done(ErrorResponse(404, "no such path"));
  auto found = methods->find(request.method);
  if (found == methods->end() && request.method == "HEAD") found = methods->find("GET");
  if (found != methods->end()) return found->second(request, std::move(done));

  Response refused = ErrorResponse(405, "this path does not take this method");
  std::string allow;
  for (const auto& [method, handler] : *methods) {
    allow += (allow.empty() ? "" : ", ") + method;
    if (method == "GET") allow += ", HEAD";
  }
  refused.headers["Allow"] = allow;
  done(std::move(refused));
}

}  // namespace muster::http
