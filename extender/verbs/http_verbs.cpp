#include "extender/verbs/http_verbs.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include "extender/verbs/caller_access.hpp"

namespace muster::extender {
namespace {

http::Response ToHttp(HandlerReply reply) {
  if (reply.kind != ReplyKind::kProtocol) {
    const int status = reply.kind == ReplyKind::kMalformed ? 400 : 503;
    http::Response refused = http::ErrorResponse(status, reply.body);
    refused.close = reply.close;
    return refused;
  }
  http::Response response;
  response.body = std::move(reply.body);
  response.close = reply.close;
  return response;
}

// kube-scheduler says so, and a page in a browser cannot without being asked first.
std::optional<http::Response> NotJson(const http::Request& request) {
  const cluster::Status says = SaysJson(request);
  if (says.ok()) return std::nullopt;
  return http::ErrorResponse(415, says.error().message);
}

void Mount(http::Server& server, const char* path, ExtenderHandlers& handlers,
           HandlerReply (ExtenderHandlers::*answer)(std::string_view body)) {
  server.Handle("POST", path, [&handlers, answer](const http::Request& request) {
    if (std::optional<http::Response> refused = NotJson(request)) return *std::move(refused);
    return ToHttp((handlers.*answer)(request.body));
  });
}

}  // namespace

void MountExtenderVerbs(http::Server& server, ExtenderHandlers& handlers) {
  Mount(server, kFilterPath, handlers, &ExtenderHandlers::Filter);
  Mount(server, kPrioritizePath, handlers, &ExtenderHandlers::Prioritize);
  Mount(server, kPreemptPath, handlers, &ExtenderHandlers::Preempt);
  server.HandleLater(
      "POST", kBindPath, [&handlers](const http::Request& request, const http::Done& done) {
        if (std::optional<http::Response> refused = NotJson(request))
          return done(*std::move(refused));
        handlers.Bind(request.body, [done](HandlerReply reply) { done(ToHttp(std::move(reply))); });
      });
  server.Handle("GET", "/healthz", [](const http::Request&) {
    return http::Response{.body = "ok\n", .content_type = "text/plain"};
  });
}

}  // namespace muster::extender
