// The extender protocol without its wire form: what kube-scheduler asks and what Muster answers.
// kube-scheduler's side of it (sim/) and ours (extender/) both speak these structs;
// extender/wire/wire.hpp encodes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/pod.hpp"

namespace muster::engine {

// Filter and Prioritize: the pod, and the nodes that kube-scheduler's own checks left, in its
// order.
struct NodesQuestion {
  cluster::Pod pod;
  std::vector<std::string> nodes;
};

// At most one node passes: the planned one. All other nodes of the question are refused for the
// same reason.
struct FilterAnswer {
  std::string node;     // empty: no node passes
  std::string refusal;  // why the others are refused; one of few, stable texts
  // True: refused nodes go to FailedNodes (kube-scheduler's own preemption might help), else to
  // FailedAndUnresolvableNodes. Muster preempts by itself, so this is false today for every
  // refusal.
  bool resolvable = false;
  std::string error;  // the call as a whole failed: nothing passes, nothing is refused
};

// Score 10 for `node`, 0 for all others; `node` empty: all 0.
struct PrioritizeAnswer {
  std::string node;
};

struct BindCall {
  cluster::ObjectKey pod;
  cluster::PodUid uid;
  std::string node;
};

// Answers at once, or holds the call: then an AnswerBind with this ticket comes out of Advance
// later. `ticket` is chosen by the caller and unique among open calls.
struct BindReceipt {
  bool held = false;
  std::string error;  // when not held; empty: the pod is bound
};

}  // namespace muster::engine
