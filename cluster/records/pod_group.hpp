// PodGroup: the demand for a gang, whatever flavour of object expressed it. Plain value, built by
// the decoders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/gang_record.hpp"
#include "cluster/records/run_times.hpp"
#include "cluster/records/topology_terms.hpp"

namespace muster::cluster {

// Annotation of a PodGroup, "true": it is Muster's although it has no pods yet.
inline constexpr const char* kClaimAnnotation = "muster.dev/gang";

// Label or annotation of a PodGroup or a pod: the queue in which the gang waits, and to which it is
// charged.
inline constexpr const char* kQueueName = "muster.dev/queue";

// Label or annotation of a PodGroup or a pod, "false": the gang is never evicted for others, and
// has no more than the guarantee of its queue.
inline constexpr const char* kPreemptible = "muster.dev/preemptible";

// Behind a role's name: its pods that come first, where only some of it do ("w/first" beside "w").
// No controller's names have a slash.
inline constexpr std::string_view kFirstOfRole = "/first";
// "w" of both.
inline std::string WholeRole(const std::string& role) {
  return role.ends_with(kFirstOfRole) ? role.substr(0, role.size() - kFirstOfRole.size()) : role;
}

// At least `min_member` pods of role `name` are part of the all-or-nothing set.
struct RoleMinimum {
  std::string name;
  int64_t min_member = 0;
  auto operator<=>(const RoleMinimum&) const = default;
};

// What a PodGroup says of the priority of all of its pods. Nothing of it: their own counts.
struct GroupPriority {
  std::optional<int32_t> value;  // as the Priority admission plugin resolved it
  std::string class_name;        // of a PriorityClass; where there is no value, its value counts
  std::optional<bool> preempts;  // false: preemptionPolicy Never
  // Without a value the policy of the class counts, too. Else that of each pod.
  bool policy_of_class = false;
  auto operator<=>(const GroupPriority&) const = default;
  bool none() const { return !value && class_name.empty() && !preempts; }
};

// Beyond the minimum so many pods of role `name` start together: fewer are of no use.
struct RoleUnit {
  std::string name;
  int64_t size = 1;  // more than 1
  auto operator<=>(const RoleUnit&) const = default;
};

struct PodGroup {
  PodGroupUid uid;
  ObjectKey key;
  int64_t min_member = 1;          // as written; validity is judged by the engine
  std::vector<RoleMinimum> roles;  // optional per-role minima; their sum never exceeds min_member
  Duration schedule_timeout;       // 0: the policy's default
  Time created;                    // creationTimestamp, milliseconds since 1970
  int64_t resource_version = 0;    // 0: not known
  std::string defect;              // why the object is malformed; empty: fine
  bool declared = false;           // by what its pods say: there is no object
  // By what the owner of its pods says: a controller makes them, and takes its time to make one in
  // the place of one that was lost.
  bool by_owner = false;
  // Why an owner of its pods cannot be read: until it can, nobody knows who else is in the gang,
  // and nothing is started for it. Empty: all that is needed was read.
  std::string unreadable;
  // What all attempts of its owner have in common, of which each is a gang; empty: there is one.
  std::string attempts_of;
  // So many of its pods have ended well, as that owner counts: their objects may be gone.
  int64_t ended = 0;
  // Once it has run it is not taken apart because members are lost.
  bool keeps_rest = false;
  // It starts with so many, because the others are made when these run; the others then start
  // together. 0: with all of its minimum.
  int64_t starts_with = 0;
  std::vector<RoleMinimum> first_roles;  // of those
  std::vector<RoleUnit> units;           // of roles that have any; in no order
  // What was written and does not count, and why, for people; empty: nothing.
  std::string unheeded;
  // kube-scheduler looks at none of its pods as long as one of them has a gate.
  bool gates_together = false;
  bool claimed = false;    // annotation muster.dev/gang "true": Muster's before it has a pod
  TopologyTerms topology;  // where its members want to be; none: as the pods say
  GangRecord record;       // what Muster wrote there; nothing where there is no object
  std::string queue;       // kQueueName or another system's word for it; empty: it names none
  RunTimes run_times;
  std::optional<bool> preemptible;  // kPreemptible or another system's word; nothing: unsaid
  GroupPriority priority;
  bool disrupted_whole = false;           // none of its pods is evicted without the others
  std::vector<std::string> not_honoured;  // fields that are set and that Muster does not follow
  auto operator<=>(const PodGroup&) const = default;
};

// How many pods of the role start together beyond the minimum.
inline int64_t UnitSize(const PodGroup& group, const std::string& role) {
  for (const RoleUnit& unit : group.units)
    if (unit.name == WholeRole(role)) return unit.size;
  return 1;
}

}  // namespace muster::cluster
