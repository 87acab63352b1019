// UnfencedPods: the pods that an earlier leader may still bind, and what is held back for it
// (internal to engine/). Owned and guarded by Scheduler; rebuilt by the next leader from nothing.
//
//   fact Unfenced ──▶ held: its gang is not planned, its node takes no new plan
//                       │ Fenced, the pod is bound, has ended or is gone
//                       ▼
//                     let go: all waiting gangs have a turn
//
// 1. At most one entry a pod, and none of a pod that is not known: an entry goes with its pod.
// 2. A late Binding gives the pod devices that nobody here knows, on the node that it was handed
//    over on. That node is withheld from new plans of every gang, so that none of them gets the
//    same ones; what is bound or reserved there stays.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cluster/base/ids.hpp"

namespace muster::engine {

class UnfencedPods {
 public:
  struct Held {
    std::string node;  // empty: not known
    std::string why;
  };

  // Said again, it takes the place of what was said before.
  void Hold(const cluster::PodUid& pod, std::string node, std::string why);
  // False: it was not held.
  bool LetGo(const cluster::PodUid& pod);

  bool none() const { return held_.empty(); }
  const std::map<cluster::PodUid, Held>& pods() const { return held_; }
  // Why the pod is held, null: it is not.
  const std::string* Why(const cluster::PodUid& pod) const;
  bool Withholds(const std::string& node) const { return nodes_.contains(node); }
  // Withheld ones, each with the number of pods that cause it.
  const std::map<std::string, int64_t>& nodes() const { return nodes_; }

 private:
  std::map<cluster::PodUid, Held> held_;
  std::map<std::string, int64_t> nodes_;  // of held_
};

}  // namespace muster::engine
