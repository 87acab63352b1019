// GroupingRule: how the pods that one kind of object makes belong together, where no PodGroup says
// it. Plain values without I/O: config/ reads them (docs/reference/grouping-rules.md has the
// language and an example), kube/ applies them (kube/owners/grouping.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::cluster {

// Where a value stands: from a root, member by member.
struct GroupingPath {
  enum class Root {
    kNone,    // there is no path
    kOwner,   // the object that the gang is made of
    kPod,     // the pod that is judged
    kLeader,  // the outermost pod through which the owners are reached; else the pod itself
    kItem,    // an element of GroupingRole::each
    kKey,     // its name, where `each` is a map
  };
  Root root = Root::kNone;
  // Names of members; kEach: every element of a list or a map.
  std::vector<std::string> steps = {};
  bool none() const { return root == Root::kNone; }
  auto operator<=>(const GroupingPath&) const = default;
};
inline constexpr const char* kEach = "[]";

// A whole number that may be absent, as a path to nothing is.
struct GroupingAmount {
  enum class Kind {
    kNone,    // always absent
    kNumber,  // `number`
    kPath,    // what stands at `path`: a number, or text that is one
    kFirst,   // the first of `parts` that is not absent
    kSum,     // of all `parts`; absent when one is
    kMinus,   // the first of two parts without the second; absent when one is
    kTimes,   // likewise
    kLeast,   // the least of those `parts` that are not absent
    kMost,    // likewise
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;
  GroupingPath path = {};
  std::vector<GroupingAmount> parts = {};
  bool none() const { return kind == Kind::kNone; }
  bool operator==(const GroupingAmount&) const = default;
};

struct GroupingCondition {
  enum class Kind {
    kPresent,  // something stands there; empty text and an empty list are nothing
    kAbsent,
    kIs,      // it is one of `words`
    kIsNot,   // it is none of them, or nothing
    kEquals,  // `left` and `right` are the same number, and not absent
    kAbove,   // likewise
  };
  Kind kind = Kind::kPresent;
  GroupingPath path = {};
  std::vector<std::string> words = {};
  GroupingAmount left = {};
  GroupingAmount right = {};
  bool operator==(const GroupingCondition&) const = default;
};
// All of them hold.
using GroupingConditions = std::vector<GroupingCondition>;

// Pods that are alike, or, with `each`, a role for every element.
struct GroupingRole {
  GroupingPath each;
  std::string name;         // fixed, or
  GroupingPath name_from;   // from the element; neither: it has no name
  GroupingConditions when;  // the owner makes it only then
  GroupingConditions pods;  // whose role it is, in a rule without `role`; empty: no pod's
  GroupingAmount makes;     // how many pods; absent: not known
  GroupingAmount needs;     // how many the gang needs; absent: all
  GroupingAmount first;     // how many are there early; absent: all
  // Beyond the minimum so many start together (RoleUnit); absent: each by itself.
  GroupingAmount unit;
  bool operator==(const GroupingRole&) const = default;
};

// Where `when` holds the owner makes only the `first` pods of each role at first: to need more is
// to wait for ever.
struct GroupingEarly {
  GroupingConditions when;
  bool passes = false;  // it makes the others when the first run; else never
  // Which pods come first, where only some of a role do; empty: any may.
  GroupingConditions pods;
  std::string because;
  bool operator==(const GroupingEarly&) const = default;
};

struct GroupingCase {
  enum class Gang { kWhole, kPerRole, kAlone };
  GroupingConditions when;
  Gang gang = Gang::kWhole;
  GroupingAmount minimum;   // of the whole; absent: what the roles need
  GroupingAmount ended;     // how many pods have ended well, as the owner counts them
  bool keeps_rest = false;  // PodGroup::keeps_rest, unless somebody wrote a minimum
  std::string because;      // of kAlone
  bool operator==(const GroupingCase&) const = default;
};

struct GroupingException {
  GroupingConditions when;
  std::string because;
  bool operator==(const GroupingException&) const = default;
};

inline constexpr const char* kCoreGroup = "core";

struct GroupingRule {
  std::string kind;
  std::string group;                  // kCoreGroup for that without a name
  std::vector<std::string> versions;  // empty: all
  std::string resource;               // its plural, for RBAC
  // It makes objects that make the pods, and its rule says nothing but who is no member.
  bool wrapper = false;
  std::vector<GroupingException> not_members;
  GroupingPath per;      // a gang for each value
  GroupingPath attempt;  // another value is another gang
  GroupingPath role;     // what names a pod's role
  // What the owner says of the gang, as a PodGroup of Volcano would.
  GroupingPath queue;  // where its pods name none
  GroupingPath priority_class;
  std::vector<GroupingRole> roles;
  std::vector<GroupingEarly> early;
  std::vector<GroupingCase> cases;  // the first that holds counts; none: as if there were no rule
  // What the owner says that does not count, and why: said to people.
  std::vector<GroupingException> unheeded;
  bool operator==(const GroupingRule&) const = default;
};

// At most one rule is for any kind and version.
using GroupingRules = std::vector<GroupingRule>;

// What becomes of pods that wait while an owner of theirs cannot be read, so that nobody knows who
// is in their gang.
enum class UnreadableOwners {
  kWait,   // they wait until it can be
  kAlone,  // where that lasts, what the owner says does not count: such pods start one by one
};

}  // namespace muster::cluster
