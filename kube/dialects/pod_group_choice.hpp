// PodGroupChoice: which PodGroup counts where objects of several kinds have one namespace and name.
//
// The oldest does (by creation, then UID), whatever order they are read in; the others are kept and
// take its place when it goes. So a second tool that makes a PodGroup for the same job changes
// nothing about a gang that runs. One thread at a time.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/pod_group.hpp"
#include "engine/contract/facts.hpp"

namespace muster::kube {

class PodGroupChoice {
 public:
  struct Told {
    std::vector<engine::Fact> facts;  // to be told instead of the one observed
    bool withheld = false;            // it is of an object not seen before that does not count
  };
  Told Observe(const engine::Fact& fact);

 private:
  struct Rivals {
    std::map<cluster::PodGroupUid, cluster::PodGroup> objects;  // not empty
    cluster::PodGroupUid told;                                  // the one that counts
  };

  Told ObserveObject(const cluster::PodGroup& group);
  Told ObserveEnd(const cluster::PodGroupUid& uid, const engine::Fact& fact);
  static const cluster::PodGroup& Oldest(const Rivals& rivals);

  std::map<cluster::ObjectKey, Rivals> rivals_;
  std::unordered_map<cluster::PodGroupUid, cluster::ObjectKey> key_of_;
};

}  // namespace muster::kube
