#include "extender/embedded/http_extender.hpp"

#include <utility>

#include "extender/embedded/caller_wire.hpp"
#include "extender/verbs/http_verbs.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::Result;

Result<std::string> CallExtender(http::Client& client, ExtenderVerb verb, const std::string& body) {
  Result<http::Reply> reply =
      client.Post(verb == ExtenderVerb::kFilter ? kFilterPath : kPrioritizePath, body);
  if (!reply.ok()) return reply.error();
  // kube-scheduler throws the body of any other status away.
  if (reply->status != 200) {
    return Error{Code::kUnavailable, "code " + std::to_string(reply->status), ""};
  }
  return std::move(reply->body);
}

HttpExtender::HttpExtender(const http::ClientOptions& server, Post post)
    : post_(std::move(post)), client_(server), bind_clients_(server), callers_(bind_clients_) {}

Result<std::string> HttpExtender::Exchange(ExtenderVerb verb, const std::string& body) {
  return CallExtender(client_, verb, body);
}

void HttpExtender::Bind(const engine::BindCall& call, BindDone done) {
  callers_.Start(EncodeBindRequest(call), [this, done = std::move(done)](const std::string& error) {
    post_([done, error] { done(error); });
  });
}

}  // namespace muster::extender
