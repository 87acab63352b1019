// DeclaredGangs: PodGroups for gangs that have no PodGroup object, made from what their pods say
// (Pod::declared_min_member). Such a group lives as long as a pod of it does; an object of the same
// name takes precedence over it. Pods that say different numbers are a defect, unless some of them
// run: then those do not suffer for who came with another number, and the lowest of theirs counts
// until all agree. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cluster/ids.hpp"
#include "engine/facts.hpp"

namespace muster::kube {

// The UID of a PodGroup that is none of the API server's begins so.
inline constexpr const char* kDeclaredUidPrefix = "declared/";

class DeclaredGangs {
 public:
  // The facts about declared PodGroups that follow from `fact`, to be told before it.
  std::vector<engine::Fact> Observe(const engine::Fact& fact);

 private:
  struct Member {
    int64_t min_member = 0;
    cluster::Time created;
    bool runs = false;
    auto operator<=>(const Member&) const = default;
  };
  struct Gang {
    std::map<cluster::PodUid, Member> members;  // those that say something
    cluster::PodGroupUid told;                  // as what; empty: it is not told of
    bool agreed = true;                         // so it was told
  };

  void ObservePod(const cluster::Pod& pod, std::vector<engine::Fact>& facts);
  void ForgetPod(const cluster::PodUid& uid, std::vector<engine::Fact>& facts);
  void ForgetObject(const cluster::PodGroupUid& uid, std::vector<engine::Fact>& facts);
  // Brings what was told about the gang up to date.
  void Tell(const cluster::ObjectKey& key, std::vector<engine::Fact>& facts);

  std::map<cluster::ObjectKey, Gang> gangs_;
  std::unordered_map<cluster::PodUid, cluster::ObjectKey> gang_of_;
  // PodGroup objects.
  std::unordered_map<cluster::PodGroupUid, cluster::ObjectKey> key_of_;
  std::map<cluster::ObjectKey, int> objects_;  // how many of each name, of any flavour
  uint64_t last_ = 0;                          // a UID that was removed does not come back
};

}  // namespace muster::kube
