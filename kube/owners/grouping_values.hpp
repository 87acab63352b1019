// GroupingValues: what the paths, amounts and conditions of a grouping rule come to for one pod.
//
// What stands at a path and is not as expected is noted in a JsonProblems, and counts as absent.
// Owner: one judgement of one pod, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/records/grouping_rule.hpp"
#include "kube/json/json_view.hpp"
#include "kube/owners/owner_chain.hpp"

namespace muster::kube {

class GroupingValues {
 public:
  // None of them null; they outlive this.
  struct Objects {
    const OwnerLink* owner = nullptr;
    const OwnerLink* pod = nullptr;
    const OwnerLink* leader = nullptr;
  };
  GroupingValues(const Objects& objects, JsonProblems& problems)
      : objects_(objects), problems_(problems) {}

  // A text, number or boolean, as text; empty: absent.
  std::string Text(const cluster::GroupingPath& path) const;
  std::optional<int64_t> Amount(const cluster::GroupingAmount& amount) const;
  bool Holds(const cluster::GroupingConditions& conditions) const;

  // What stands there, as JSON; other values come to another text.
  void AppendShown(const cluster::GroupingPath& path, std::string& text) const;

  // The same values for every element of the list or map at `path`, with item and key.
  void ForEach(const cluster::GroupingPath& path,
               const std::function<void(const GroupingValues&)>& visit) const;

 private:
  using Visit = std::function<void(const JsonView&)>;
  void At(const cluster::GroupingPath& path, const Visit& visit) const;
  std::optional<int64_t> Number(const cluster::GroupingPath& path) const;
  bool Holds(const cluster::GroupingCondition& condition) const;
  bool AnyPresent(const cluster::GroupingPath& path) const;
  bool IsOneOf(const cluster::GroupingCondition& condition) const;

  const Objects objects_;
  JsonProblems& problems_;
  const JsonView* item_ = nullptr;
  std::string_view key_ = {};
};

}  // namespace muster::kube
