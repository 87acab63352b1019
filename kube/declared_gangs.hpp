// DeclaredGangs: PodGroups for gangs that have no PodGroup object, made from what their pods say
// (Pod::declared_min_member). Such a group lives as long as a pod of it does; an object of the same
// name takes precedence over it. Pods that say different numbers are a defect, unless some of them
// run: then those do not suffer for who came with another number, and the lowest of theirs counts
// until all agree. Of pods whose owner says it (GroupingBook) the lowest number counts always: they
// hear of a change one after the other, and a phase has ended when it has for the last. One thread
// at a time.
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
  using Roles = std::vector<cluster::RoleMinimum>;
  // The facts about declared PodGroups that follow from `fact`, to be told before it. `roles`: what
  // the owner of this pod says of them; null: no owner says anything.
  std::vector<engine::Fact> Observe(const engine::Fact& fact, const Roles* roles = nullptr);

 private:
  struct Member {
    int64_t min_member = 0;
    cluster::Time created;
    bool runs = false;
    bool by_owner = false;
    Roles roles = {};
    auto operator<=>(const Member&) const = default;
  };
  struct Gang {
    std::map<cluster::PodUid, Member> members;  // those that say something
    cluster::PodGroupUid told;                  // as what; empty: it is not told of
    bool agreed = true;                         // so it was told
  };

  void ObservePod(const cluster::Pod& pod, const Roles* roles, std::vector<engine::Fact>& facts);
  void ForgetPod(const cluster::PodUid& uid, std::vector<engine::Fact>& facts);
  void ForgetObject(const cluster::PodGroupUid& uid, std::vector<engine::Fact>& facts);
  // Of the group, and what is wrong with it.
  static void SetMinimum(Gang& gang, cluster::PodGroup& group);
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
