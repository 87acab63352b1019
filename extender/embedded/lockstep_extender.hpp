// LockstepExtender: the extender protocol over real sockets for a simulation in virtual time.
//
// Its own http::Server on a free loopback port, with the same handlers as `serve`. Virtual time
// stands still while bytes travel: a Bind call has been heard by the engine before Bind returns,
// and an answer has arrived before the loop goes on, so the outcome is the same as without
// sockets, byte for byte.
//
// Owned by sim::Cluster; one thread at a time (the loop's).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cluster/base/mutex.hpp"
#include "extender/embedded/bind_callers.hpp"
#include "extender/embedded/wire_port.hpp"
#include "extender/verbs/handlers.hpp"
#include "http/client/client.hpp"
#include "http/server/server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/calls/muster_link.hpp"

namespace muster::extender {

class LockstepExtender final : public WirePort {
 public:
  // Takes the link's OnAnswerBind and OnRestart. Without a port to listen on, every call fails and
  // says why.
  LockstepExtender(sim::EventLoop& loop, sim::MusterLink& link);
  ~LockstepExtender() override;
  LockstepExtender(const LockstepExtender&) = delete;
  LockstepExtender& operator=(const LockstepExtender&) = delete;

  void Bind(const engine::BindCall& call, BindDone done) override;

 private:
  // One open Bind call. The error is set by the call's thread, once.
  struct Call {
    BindDone done;
    std::optional<std::string> error;
  };

  cluster::Result<std::string> Exchange(ExtenderVerb verb, const std::string& body) override;
  void Told();
  void FinishHeld(uint64_t ticket);
  // The call's error, when it has arrived.
  std::string Await(const Call& call);

  sim::EventLoop& loop_;
  sim::MusterLink& link_;
  ExtenderHandlers handlers_;
  http::Server server_;
  std::string broken_;  // why the server is not there; empty: it is
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<http::ClientPool> bind_clients_;
  std::unique_ptr<BindCallers> callers_;

  std::map<uint64_t, std::shared_ptr<Call>> held_;  // by ticket

  cluster::Mutex mu_;
  cluster::CondVar changed_;
  uint64_t told_ MUSTER_GUARDED_BY(mu_) = 0;  // calls that the engine has heard
};

}  // namespace muster::extender
