#include "engine/gangs/past.hpp"

#include <algorithm>

#include "engine/gangs/headcount.hpp"

namespace muster::engine {

using cluster::GangRecord;
using cluster::Headcount;
using cluster::OwnerTag;
using cluster::Time;

Headcount Past::Wanted(const Headcount& declared, bool grows) const {
  return Minus(running_since_ && !grows ? Lower(declared, whole_) : declared, ended_);
}

void Past::Begin(const Headcount& declared, bool whole, Time now) {
  if (!one_by_one_) whole_ = whole || !running_since_ ? declared : Lower(declared, whole_);
  has_run_ = adopted_ = true;  // what was before is of no account any more
  evicted_ = false;
  if (!running_since_) running_since_ = now;
}

void Past::RunOneByOne(Time now) {
  if (one_by_one_) return;
  Begin({1, {}}, true, now);
  one_by_one_ = true;
}

void Past::Joined(const std::string& owner) {
  if (Knows(owner)) return;
  if (owners_.size() >= kMostOwners)
    owners_ = {cluster::kAnyOwner};
  else
    owners_.insert(OwnerTag(owner));
}

bool Past::Knows(const std::string& owner) const {
  return owners_.contains(cluster::kAnyOwner) || owners_.contains(OwnerTag(owner));
}

void Past::Ended(const std::string& name, const std::string& role) {
  ++ended_.members;
  ++ended_.roles[role];
  if (names_.size() < kMostNames) names_[name] = role;
}

void Past::Recreated(const std::string& name) {
  const auto ended = names_.find(name);
  if (ended == names_.end()) return;
  ended_ = Minus(ended_, {1, {{ended->second, 1}}});
  names_.erase(ended);
}

bool Past::AnotherRun(const std::set<std::string>& owners, const Headcount& declared) const {
  if (!has_run_ || owners.empty()) return false;
  // Pods without an owner do not say whose place they take.
  const bool over = Wanted(declared).members == 0;
  const bool known = std::any_of(owners.begin(), owners.end(), [&](const std::string& owner) {
    return Knows(owner) && !(over && owner.empty());
  });
  return !known && (over || !owners_.empty());
}

void Past::Forget() {
  has_run_ = false;
  MarkUnbound();
  whole_ = inferred_ = adopted_have_ = {};
  ended_ = {};
  owners_.clear();
  names_.clear();
}

GangRecord Past::Record(const Headcount& wanted, const Headcount& lacks, Time since) const {
  GangRecord record;
  record.evicted = evicted_;
  if (!has_run_) return record;
  record.has_run = true;
  record.started = running_since_;
  record.whole = Plus(wanted, ended_);
  record.ended = ended_;
  // Pods without a role count in all only.
  for (Headcount* heads : {&record.whole, &record.ended}) heads->roles.erase("");
  record.lost = lacks;
  if (lacks != Headcount{}) record.lost_since = since;
  record.owners = owners_;
  return record;
}

void Past::Adopt(const GangRecord& record, const Headcount& have, const Headcount& gone) {
  Forget();  // what a follower saw is part of what the record and today's members tell
  adopted_ = true;
  evicted_ = record.evicted;
  if (!record.has_run) return;
  const Headcount wanted = Minus(record.whole, record.ended);
  const bool unknown = wanted.members > 0 && have.members == 0;
  // Whose run it was decides what comes now; where nobody knows, it starts as a whole.
  if (unknown && record.owners.empty() && record.lost.members == 0) return;
  has_run_ = true;
  owners_ = record.owners;
  whole_ = record.whole;
  ended_ = record.ended;
  if (unknown) return;
  running_since_ = record.started;
  inferred_ = Minus(Minus(wanted, have), Higher(record.lost, gone));
  adopted_have_ = have;
  ended_ = Plus(ended_, inferred_);
}

void Past::Reconsider(const Headcount& have) {
  const Headcount not_ended = Lower(inferred_, Minus(have, adopted_have_));
  if (not_ended.members == 0) return;
  ended_ = Minus(ended_, not_ended);
  inferred_ = Minus(inferred_, not_ended);
  adopted_have_ = have;
}

}  // namespace muster::engine
