#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/engine/queue_world.hpp"

// Worlds in which gangs ask for nodes by ProvisioningRequest.
namespace muster::testing {

using cluster::ProvisioningRequest;
using cluster::RequestState;
using cluster::Seconds;
using engine::GangState;

inline engine::Options Asking(int64_t after_seconds = 10) {
  engine::Options options;
  options.autoscaling.scale_up = engine::ScaleUp::kProvisioningRequest;
  options.autoscaling.after = Seconds(after_seconds);
  return options;
}

// The only one that there is; an empty one: there is none, or several.
inline ProvisioningRequest OnlyRequest(const Harness& world) {
  return world.Requests().size() == 1 ? world.Requests().begin()->second : ProvisioningRequest{};
}

inline std::vector<engine::AskForNodes> AsksMade(const Harness& world) {
  std::vector<engine::AskForNodes> asks;
  for (const engine::Action& action : world.log) {
    if (const auto* ask = std::get_if<engine::AskForNodes>(&action)) asks.push_back(*ask);
  }
  return asks;
}

inline int ToldOf(const Harness& world, const std::string& reason) {
  return static_cast<int>(std::count_if(world.log.begin(), world.log.end(), [&](const auto& one) {
    const auto* event = std::get_if<engine::EmitEvent>(&one);
    return event != nullptr && event->reason == reason;
  }));
}

inline void SetState(Harness& world, const std::string& name, RequestState state,
                     const std::string& message = "") {
  world.ChangeRequest(name, [&](ProvisioningRequest& request) {
    request.state = state;
    request.message = message;
  });
}

inline std::string RequestSays(const Harness& world, const std::string& gang) {
  return world.Gang(gang).scale_up;
}

inline bool Gated(const Harness& world, const std::string& gang, int pods) {
  for (int i = 0; i < pods; ++i) {
    if (world.Pod(gang + "-" + std::to_string(i)).gates.empty()) return false;
  }
  return true;
}

}  // namespace muster::testing
