// DirectExtender: the extender protocol straight on an engine::Scheduler, without a wire between.
//
// Owned by sim::Cluster; one thread at a time (the loop's).
#pragma once

#include <cstdint>
#include <map>

#include "sim/api_server/event_loop.hpp"
#include "sim/calls/extender_port.hpp"
#include "sim/calls/muster_link.hpp"

namespace muster::sim {

class DirectExtender final : public ExtenderPort {
 public:
  // Takes the link's OnAnswerBind and OnRestart.
  DirectExtender(EventLoop& loop, MusterLink& link);

  FilterReply Filter(const engine::NodesQuestion& question) override;
  PrioritizeReply Prioritize(const engine::NodesQuestion& question) override;
  void Bind(const engine::BindCall& call, BindDone done) override;

 private:
  void Answer(uint64_t ticket, const std::string& error);

  EventLoop& loop_;
  MusterLink& link_;
  uint64_t next_ticket_ = 1;
  std::map<uint64_t, BindDone> open_;  // Bind calls that the engine holds, by ticket
};

// What a full answer of ours means to kube-scheduler.
FilterReply ReplyOf(const engine::NodesQuestion& question, const engine::FilterAnswer& answer);

}  // namespace muster::sim
