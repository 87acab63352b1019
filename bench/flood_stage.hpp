// FloodStage: the real handlers on two ports of the loopback, with the options that `muster serve`
// gives them, before an engine with many gangs that wait for room. A third port is the first one
// with TLS.
//
// One thread; the servers have theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace muster::bench {

class FloodStage {
 public:
  // All GPUs are held, and `gangs` of four pods wait. Gang "team/g-0" and so on; those of namespace
  // "own" are few.
  explicit FloodStage(int gangs);
  ~FloodStage();
  FloodStage(const FloodStage&) = delete;
  FloodStage& operator=(const FloodStage&) = delete;

  // All gangs were tried; after half a minute, whatever is left.
  void AwaitQuiet() const;
  // Nobody is connected, nor waits for an answer.
  bool idle() const;
  std::uint16_t extender_port() const;
  std::uint16_t tls_port() const;
  std::uint16_t api_port() const;
  // Of a pod that fits nowhere.
  std::string FilterBody() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The token that the stage's API server knows; it takes 5 ms for one that it does not know.
inline constexpr const char* kKnownToken = "ann";

}  // namespace muster::bench
