// Pods and their owners as YAML, and what the rules that ship make of them. One test, one thread.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "cluster/records/grouping_rule.hpp"
#include "kube/json/json.hpp"
#include "kube/owners/grouping.hpp"

namespace muster::kube::testing {

// "ownerReferences: [{…}]" with the controller.
std::string OwnedBy(const std::string& api_version, const std::string& kind,
                    const std::string& name, const std::string& uid);

// What a controller's pod looks like: `meta` and `spec` are YAML in braces' inside.
std::string PodText(const std::string& name, const std::string& meta, const std::string& spec = "");

class GroupingWorld {
 public:
  GroupingWorld();
  explicit GroupingWorld(cluster::GroupingRules rules) : rules_(std::move(rules)) {}

  // An object, of which is there what is kept of owners; one of the same kind and name takes its
  // place.
  void Add(const std::string& yaml);
  void Remove(const std::string& kind, const std::string& name);
  void Forbid(const std::string& kind) { forbidden_.insert(kind); }
  void Unread(const std::string& kind) { unread_.insert(kind); }
  // What lasts and cannot be read does not count.
  void LetAlone() { unreadable_ = cluster::UnreadableOwners::kAlone; }

  Grouping Judge(const std::string& pod_yaml);
  // The same in a line:
  //   "jobset:train needs 4 (ps 1, worker 3) as worker, attempt 0"
  //   "alone: …", "no member: …", "refused: …", "read Job train", "waits as job:train: …", "linked"
  std::string Told(const std::string& pod_yaml);
  int reads() const { return reads_; }

 private:
  OwnerRead Look(const OwnerKey& key);

  cluster::GroupingRules rules_;
  std::map<std::string, std::shared_ptr<const Json>> objects_;  // what is kept, by "Kind name"
  std::set<std::string> forbidden_;                             // kinds
  std::set<std::string> unread_;
  cluster::UnreadableOwners unreadable_ = cluster::UnreadableOwners::kWait;
  int reads_ = 0;
};

}  // namespace muster::kube::testing
