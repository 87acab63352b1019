// OwnerChain: a pod and the owners that made it, from the nearest to the outermost, as far as
// grouping rules name them. Pure: owners are asked for by a function, and what is missing is said.
// Values that point into the JSON they were made of; one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/records/grouping_rule.hpp"
#include "kube/json/json.hpp"

namespace muster::kube {

// An object as an owner reference names it. An object of the same name with another UID is another
// object.
struct OwnerKey {
  std::string api_version;  // "batch/v1"
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  auto operator<=>(const OwnerKey&) const = default;

  std::string group() const;    // "batch", "core"
  std::string version() const;  // "v1"
  std::string Shown() const;    // "Job train"
};

class OwnersTerms;

struct OwnerRead {
  enum class State {
    kKnown,
    kGone,       // the API server has no such object
    kForbidden,  // it cannot be read, for `why`
    kUnread,     // nobody has asked yet
  };
  State state = State::kUnread;
  const JsonNode* object = nullptr;  // of kKnown
  std::string why = {};              // of kForbidden, for people
  bool lasts = true;                 // of kForbidden: it is refused, or has failed for long
  // Of kUnread: it was read, but not what the rules read now. What was made of it holds till then.
  bool outdated = false;
  std::shared_ptr<const Json> held = nullptr;  // keeps `object`, where somebody has to
  // What was worked out of it for other pods; null: it is worked out for each.
  std::shared_ptr<OwnersTerms> terms = nullptr;
};
using OwnerLookup = std::function<OwnerRead(const OwnerKey&)>;

struct OwnerLink {
  OwnerKey key;
  const JsonNode* object = nullptr;
  const cluster::GroupingRule* rule = nullptr;   // null: a pod, which has none
  std::shared_ptr<const Json> held = nullptr;    // as in OwnerRead
  std::shared_ptr<OwnersTerms> terms = nullptr;  // likewise
  bool is_pod() const { return key.kind == "Pod" && key.group() == cluster::kCoreGroup; }
};

// Owners of one pod; more are refused. Real chains have seven.
inline constexpr size_t kMostOwners = 16;

struct OwnerChain {
  std::vector<OwnerLink> links;        // the pod itself, its owner, the owner's owner, …
  std::optional<OwnerKey> unread;      // it must be read before more can be said
  std::optional<OwnerKey> beyond;      // the owner of the last link: no rule names its kind
  std::optional<OwnerKey> unreadable;  // or it cannot be read
  std::string why;                     // that is, for people
  bool lasts = false;                  // as in OwnerRead
  std::string broken;                  // or why the owners say nothing about the pod; empty: fine
  bool owner_gone = false;             // because of this
};

// `ns`: of the pod. Owners by `controller: true` only. A wrapper that is gone ends the chain; any
// other owner that is gone breaks it: such a pod is about to be removed.
OwnerChain FollowOwners(const JsonNode& pod, const cluster::GroupingRules& rules,
                        const OwnerLookup& lookup);

// The rule for a kind in a version; null: there is none.
const cluster::GroupingRule* FindRule(const cluster::GroupingRules& rules, const OwnerKey& owner);

}  // namespace muster::kube
