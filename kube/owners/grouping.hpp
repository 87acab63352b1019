// JudgeGrouping: which gang a pod is in when no PodGroup says so: what its owners are, and what the
// grouping rules say of them.
//
// Pure, any thread. GroupingBook (grouping_book.hpp) calls it for every pod of Muster's that names
// no PodGroup, and has the owners that it asks for (`next`) read. The fact about a pod carries what
// `key`, `role` and `minimum` say; DeclaredGangs makes the group of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/grouping_rule.hpp"
#include "cluster/records/pod_group.hpp"
#include "kube/json/json.hpp"
#include "kube/owners/owner_chain.hpp"
#include "kube/owners/shared_list.hpp"

namespace muster::kube {

// Annotation or label of a pod or an owner, "false": its pods are in no gang by their owners. (On a
// PodGroup the same name is cluster::kClaimAnnotation.)
inline constexpr const char* kGroupingOff = "muster.dev/gang";

inline constexpr const char* kNoOwner = "it has no owner";

struct Grouping {
  enum class Kind {
    kLinked,     // the pod names its PodGroup: nothing else counts
    kUnread,     // `next` must be read first; `key` as of kUnreadable
    kAlone,      // for `reason`
    kNotMember,  // alone, although its owner's other pods are a gang, for `reason`
    kGang,
    kRefused,     // asked for is what can never start, for `reason`; `key` may be empty
    kUnreadable,  // an owner cannot be read, for `reason`; `key` is of the pods that wait for it
  };
  Kind kind = Kind::kAlone;
  std::string reason;  // in plain words
  std::string note;    // an owner cannot be read, so that what is above it does not count
  std::optional<OwnerKey> next;
  bool owner_gone = false;  // the pod is about to be removed

  // Of a gang. Two attempts of one workload have two keys, and so have an owner and the one that is
  // made anew under its name. No PodGroup object can have such a name: "jobset:train~1f8e0a2c".
  cluster::ObjectKey key;
  OwnerKey owner;           // what the gang is made of
  std::string attempt;      // as the controller counts it; empty: by the owner's UID alone
  std::string attempts_of;  // as in cluster::PodGroup
  // When its owner was made, or resumed last (status.startTime). Nothing: that is not known, or the
  // owner makes other gangs, too, later ones.
  std::optional<cluster::Time> since;
  std::string role;
  int64_t minimum = 0;
  SharedList<cluster::RoleMinimum> roles;  // together never more than `minimum`
  int64_t ended = 0;                       // as in cluster::PodGroup
  bool keeps_rest = false;                 // as in cluster::PodGroup
  int64_t starts_with = 0;                 // likewise
  SharedList<cluster::RoleMinimum> first_roles;
  SharedList<cluster::RoleUnit> units;    // likewise
  std::string unheeded;                   // likewise
  std::vector<std::string> not_honoured;  // likewise: fields of its owner
  std::string queue;                      // that its owner names; empty: none
  std::string priority_class;             // likewise
  std::optional<int64_t> makes;  // how many pods its owner makes; also of one that is refused
};

// Where an owner cannot be read the word of the pod itself counts, if it says how many its gang
// needs or that it is in none; else `unreadable` says what follows.
Grouping JudgeGrouping(const JsonNode& pod, const cluster::GroupingRules& rules,
                       const OwnerLookup& lookup,
                       cluster::UnreadableOwners unreadable = cluster::UnreadableOwners::kWait);

}  // namespace muster::kube
