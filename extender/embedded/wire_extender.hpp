// WireExtender: the extender protocol in bytes, without sockets. Encodes what kube-scheduler would
// send, hands it to the same handlers that HTTP uses, decodes their reply.
//
// Owned by sim::Cluster; one thread at a time (the loop's). Deterministic.
#pragma once

#include <string>

#include "extender/embedded/wire_port.hpp"
#include "extender/verbs/handlers.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/calls/muster_link.hpp"

namespace muster::extender {

class WireExtender final : public WirePort {
 public:
  // Takes the link's OnAnswerBind and OnRestart.
  WireExtender(sim::EventLoop& loop, sim::MusterLink& link);

  void Bind(const engine::BindCall& call, BindDone done) override;

 private:
  cluster::Result<std::string> Exchange(ExtenderVerb verb, const std::string& body) override;

  sim::EventLoop& loop_;
  sim::MusterLink& link_;
  ExtenderHandlers handlers_;
  bool restarting_ = false;  // answers given now belong to a process that is gone
};

}  // namespace muster::extender
