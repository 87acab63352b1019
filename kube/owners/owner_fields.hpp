// OwnerFields: what is kept of one kind of owners: what the grouping rules in force read of it, and
// what judging reads beside. Immutable, so threads may share it.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cluster/records/grouping_rule.hpp"
#include "kube/json/json_sieve.hpp"
#include "kube/owners/owner_chain.hpp"

namespace muster::kube {

class OwnerFields {
 public:
  // Of the objects that are of `owner`'s kind, in its version.
  OwnerFields(const cluster::GroupingRules& rules, const OwnerKey& owner);
  ~OwnerFields() = default;
  OwnerFields(const OwnerFields&) = delete;
  OwnerFields& operator=(const OwnerFields&) = delete;

  // Of an object; valid as long as this.
  std::span<const Kept> kept() const { return kept_; }
  // What was kept by this shows all that `other` would keep.
  bool Covers(const OwnerFields& other) const;

 private:
  struct Place {
    std::map<std::string, Place> inside;
    bool whole = false;  // a text or a number is read; else it is enough that something is there
  };

  void Add(const std::vector<std::string>& steps, bool whole);
  void AddRules(const cluster::GroupingRules& rules, const OwnerKey& owner);
  void AddJudging();
  static void Merge(const Place& from, Place& into);
  static void SpreadEach(Place& place);
  static bool Covers(const Place& place, const Place& other);
  std::span<const Kept> Keep(const Place& place);

  Place root_;
  std::deque<std::vector<Kept>> lists_;  // `members` of what is kept
  std::span<const Kept> kept_;
};

}  // namespace muster::kube
