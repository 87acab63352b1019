// ApiServer's inside: store, counters, options. Internal to the api_server*.cpp files.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "sim/api_server/api_server.hpp"
#include "sim/api_server/api_store.hpp"
#include "sim/api_server/event_store.hpp"

namespace muster::sim {

inline cluster::Error NotFound(const char* kind, const std::string& name) {
  return {cluster::Code::kNotFound, std::string(kind) + " \"" + name + "\" not found", ""};
}
inline cluster::Error Taken(const char* kind, const std::string& name) {
  return {cluster::Code::kConflict, std::string(kind) + " \"" + name + "\" already exists", ""};
}
inline cluster::Error Invalid(const char* message) {
  return {cluster::Code::kInvalidArgument, message, ""};
}

struct ApiServer::Impl {
  Impl(EventLoop& event_loop, ApiServerOptions server_options)
      : loop(event_loop),
        options(std::move(server_options)),
        store(loop, options.seed),
        events(options.max_events) {}

  void Count(Actor actor, Verb verb) {
    ++writes[static_cast<size_t>(actor)][static_cast<size_t>(verb)];
  }
  bool Gated(const PodRecord& record) const;
  cluster::Result<PodPtr*> Find(const engine::PodRef& ref);
  // Stores the record in place of `slot`'s and tells the watches.
  void Store(PodPtr& slot, std::shared_ptr<PodRecord> next);
  void Remove(const PodPtr& pod);
  cluster::Status Terminate(PodPtr& slot, cluster::Duration grace);

  EventLoop& loop;
  const ApiServerOptions options;
  ApiStore store;
  std::array<std::array<int64_t, kVerbs>, kActors> writes{};
  DecisionLog decisions;
  EventStore events;
  struct Reads {
    OwnerReads how = OwnerReads::kServed;
    cluster::Time since;
  };
  std::map<std::string, Reads> owner_reads;  // by namespace; else they are served
};

}  // namespace muster::sim
