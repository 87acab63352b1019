#include "extender/embedded/wire_port.hpp"

#include "extender/embedded/caller_wire.hpp"

namespace muster::extender {

using cluster::Result;

sim::FilterReply WirePort::Filter(const engine::NodesQuestion& question) {
  sim::FilterReply failed;
  const Result<std::string> body = Exchange(ExtenderVerb::kFilter, EncodeArgs(question));
  if (!body.ok()) {
    failed.error = body.error().ToString();
    return failed;
  }
  Result<sim::FilterReply> reply = DecodeFilterReply(*body, NodesForm::kNames);
  if (reply.ok()) return *std::move(reply);
  failed.error = reply.error().ToString();
  return failed;
}

sim::PrioritizeReply WirePort::Prioritize(const engine::NodesQuestion& question) {
  sim::PrioritizeReply failed;
  const Result<std::string> body = Exchange(ExtenderVerb::kPrioritize, EncodeArgs(question));
  if (!body.ok()) {
    failed.error = body.error().ToString();
    return failed;
  }
  Result<sim::PrioritizeReply> reply = DecodePrioritizeReply(*body);
  if (reply.ok()) return *std::move(reply);
  failed.error = reply.error().ToString();
  return failed;
}

}  // namespace muster::extender
