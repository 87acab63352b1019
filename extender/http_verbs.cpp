#include "extender/http_verbs.hpp"

#include <utility>

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

}  // namespace

void MountExtenderVerbs(http::Server& server, ExtenderHandlers& handlers) {
  server.Handle("POST", kFilterPath, [&handlers](const http::Request& request) {
    return ToHttp(handlers.Filter(request.body));
  });
  server.Handle("POST", kPrioritizePath, [&handlers](const http::Request& request) {
    return ToHttp(handlers.Prioritize(request.body));
  });
  server.Handle("POST", kPreemptPath, [&handlers](const http::Request& request) {
    return ToHttp(handlers.Preempt(request.body));
  });
  server.HandleLater(
      "POST", kBindPath, [&handlers](const http::Request& request, const http::Done& done) {
        handlers.Bind(request.body, [done](HandlerReply reply) { done(ToHttp(std::move(reply))); });
      });
  server.Handle("GET", "/healthz", [](const http::Request&) {
    return http::Response{.body = "ok\n", .content_type = "text/plain"};
  });
}

}  // namespace muster::extender
