// ExtenderPort: how the simulated kube-scheduler reaches Muster. DirectExtender calls the engine
// in-process; extender/embedded/ has implementations that go through the wire codec and through
// HTTP. (kube-scheduler's side of the protocol.)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/contract/extender_api.hpp"

namespace muster::sim {

struct FilterReply {
  std::vector<std::string> passed;         // a subset of the question's nodes
  std::map<std::string, int64_t> refused;  // reason → nodes
  std::string error;                       // not empty: the call failed, the rest means nothing
};

struct NodeScore {
  std::string node;
  int64_t score = 0;  // 0 to 10
};

struct PrioritizeReply {
  std::vector<NodeScore> scores;  // nodes left out have 0
  std::string error;              // kube-scheduler goes on without the scores
};

class ExtenderPort {
 public:
  // `error` empty: the pod is bound.
  using BindDone = std::function<void(const std::string& error)>;

  virtual ~ExtenderPort() = default;
  // 1. Filter and Prioritize answer before they return.
  virtual FilterReply Filter(const engine::NodesQuestion& question) = 0;
  virtual PrioritizeReply Prioritize(const engine::NodesQuestion& question) = 0;
  // 2. `done` is called exactly once, on the loop's thread, never before Bind has returned. It is
  // safe to call it when
  //    the caller has given up waiting.
  virtual void Bind(const engine::BindCall& call, BindDone done) = 0;
};

}  // namespace muster::sim
