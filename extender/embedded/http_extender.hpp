// HttpExtender: the extender protocol over real sockets, for a simulated kube-scheduler that lives
// in real time.
//
// Filter and Prioritize go over one kept-alive connection, Bind calls concurrently over others.
// Owned by the cluster; Filter, Prioritize and Bind from its thread.
#pragma once

#include <functional>
#include <string>

#include "extender/embedded/bind_callers.hpp"
#include "extender/embedded/wire_port.hpp"
#include "http/client/client.hpp"

namespace muster::extender {

class HttpExtender final : public WirePort {
 public:
  // Runs a task on the cluster's thread, from any thread.
  using Post = std::function<void(std::function<void()>)>;

  HttpExtender(const http::ClientOptions& server, Post post);

  void Bind(const engine::BindCall& call, BindDone done) override;

 private:
  cluster::Result<std::string> Exchange(ExtenderVerb verb, const std::string& body) override;

  const Post post_;
  http::Client client_;
  http::ClientPool bind_clients_;
  BindCallers callers_;
};

// One Filter or Prioritize call.
cluster::Result<std::string> CallExtender(http::Client& client, ExtenderVerb verb,
                                          const std::string& body);

}  // namespace muster::extender
