// DeclaredGangs: PodGroups for gangs that have no PodGroup object, made from what their pods say
// (Pod::declared_min_member). Such a group lives as long as a pod of it does; an object of the same
// name takes precedence over it. Pods that say different numbers are a defect, unless some of them
// run: then those do not suffer for who came with another number, and the lowest of theirs counts
// until all agree. Of pods whose owner says it (GroupingBook) the lowest number counts always: they
// hear of a change one after the other, and a phase has ended when it has for the last. As long as
// an owner of one of its pods cannot be read all of its pods that are known are needed: none of
// them is more than it has to have. Gangs that start together (GangWords::together) are one, in
// which each is a role with its own minimum; of one that has no pod yet one pod is waited for. One
// thread at a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/base/ids.hpp"
#include "engine/contract/facts.hpp"
#include "kube/owners/grouping.hpp"
#include "kube/owners/shared_list.hpp"

namespace muster::kube {

// The UID of a PodGroup that is none of the API server's begins so.
inline constexpr const char* kDeclaredUidPrefix = "declared/";

class DeclaredGangs {
 public:
  // The facts about declared PodGroups that follow from `fact`, to be told before it; none where
  // nothing about the group changes. `owner`: what the owners of this pod say of its gang; null:
  // nothing.
  std::vector<engine::Fact> Observe(const engine::Fact& fact, const Grouping* owner = nullptr);

 private:
  // The least minimum comes first.
  struct Said {
    int64_t min_member = 0;
    SharedList<cluster::RoleMinimum> roles = {};
    int64_t ended = 0;
    bool by_owner = false;
    std::string unreadable = {};
    std::string attempts_of = {};
    std::optional<cluster::Time> since = {};  // as Grouping::since
    bool keeps_rest = false;
    int64_t starts_with = 0;
    SharedList<cluster::RoleMinimum> first_roles = {};
    SharedList<cluster::RoleUnit> units = {};
    std::string unheeded = {};
    std::vector<std::string> not_honoured = {};
    bool names_queue = false;  // the pod does
    std::string queue = {};    // that its owner names
    std::string priority_class = {};
    cluster::Duration schedule_timeout = {};
    // Of gangs that start together: their names, and which of them the minimum is of.
    std::vector<std::string> together = {};
    std::string part = {};
    auto operator<=>(const Said&) const = default;
  };
  struct Count {
    int64_t pods = 0;
    int64_t running = 0;  // of these
  };
  using Sayings = std::map<Said, Count>;
  struct Member {
    Sayings::iterator said;
    cluster::Time created;
    bool runs = false;
  };
  // What the engine receives about a gang; it shares the lists of its pods, for they may be long.
  struct Declared {
    cluster::PodGroup group;  // without these
    SharedList<cluster::RoleMinimum> roles = {};
    SharedList<cluster::RoleMinimum> first_roles = {};
    SharedList<cluster::RoleUnit> units = {};
    bool operator==(const Declared&) const = default;
  };
  struct Gang {
    std::unordered_map<cluster::PodUid, Member> members;  // those that say something
    Sayings sayings;                                      // theirs
    std::multiset<cluster::Time> created;                 // likewise
    Declared told;                                        // without UID: it is not told of
  };

  void ObservePod(const cluster::Pod& pod, const Grouping* owner, std::vector<engine::Fact>& facts);
  void ForgetPod(const cluster::PodUid& uid, std::vector<engine::Fact>& facts);
  void ForgetObject(const cluster::PodGroupUid& uid, std::vector<engine::Fact>& facts);
  static void Leave(Gang& gang, const cluster::PodUid& uid);
  // What counts of those that say it of this part, and what is wrong with it.
  struct Verdict {
    const Said* counts = nullptr;  // null: nobody says anything
    std::string defect = {};
  };
  static Verdict Judge(const Sayings& sayings, const std::string& part);
  // Of the group, and what is wrong with it.
  static void SetOwnersWords(const Sayings& sayings, cluster::PodGroup& group);
  static void SetMinimum(const Gang& gang, Declared& declared);
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
