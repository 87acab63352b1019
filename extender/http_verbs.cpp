#include "extender/http_verbs.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cluster/mutex.hpp"

namespace muster::extender {
namespace {

using cluster::MutexLock;

// Where the thread of a held call waits for its answer.
class Answer {
 public:
  void Set(HandlerReply reply) {
    const MutexLock lock(mu_);
    reply_ = std::move(reply);
    came_.NotifyAll();
  }
  HandlerReply Wait() {
    const MutexLock lock(mu_);
    while (!reply_) came_.Wait(mu_);
    return *std::move(reply_);
  }

 private:
  cluster::Mutex mu_;
  cluster::CondVar came_;
  std::optional<HandlerReply> reply_ MUSTER_GUARDED_BY(mu_);
};

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
  server.Handle("POST", kBindPath, [&handlers](const http::Request& request) {
    const auto answer = std::make_shared<Answer>();
    handlers.Bind(request.body, [answer](HandlerReply reply) { answer->Set(std::move(reply)); });
    return ToHttp(answer->Wait());
  });
  server.Handle("GET", "/healthz", [](const http::Request&) {
    return http::Response{.body = "ok\n", .content_type = "text/plain"};
  });
}

}  // namespace muster::extender
