#include "engine/past.hpp"

#include <algorithm>

#include "engine/minimum.hpp"

namespace muster::engine {

using cluster::GangRecord;
using cluster::Headcount;
using cluster::Time;

Headcount Past::Wanted(const Headcount& declared) const {
  return Minus(runs_since_ ? Lower(declared, whole_) : declared, ended_);
}

void Past::Begin(const Headcount& declared, bool whole, Time now) {
  whole_ = whole || !runs_since_ ? declared : Lower(declared, whole_);
  begun_ = adopted_ = true;  // what was before is of no account any more
  if (!runs_since_) runs_since_ = now;
}

void Past::Joined(const std::string& owner) { owners_.insert(owner); }

void Past::Ended(const std::string& role) {
  ++ended_.members;
  ++ended_.roles[role];
}

bool Past::AnotherRun(const std::set<std::string>& owners, const Headcount& declared) const {
  if (!begun_ || owners.empty()) return false;
  // Pods without an owner do not say whose place they take.
  const bool over = Wanted(declared).members == 0;
  const bool known = std::any_of(owners.begin(), owners.end(), [&](const std::string& owner) {
    return owners_.contains(owner) && !(over && owner.empty());
  });
  return !known && (over || !owners_.empty());
}

void Past::Forget() {
  begun_ = false;
  runs_since_.reset();
  whole_ = {};
  ended_ = {};
  owners_.clear();
}

GangRecord Past::Record(const Headcount& wanted, const Headcount& lacks, Time since) const {
  GangRecord record;
  if (!begun_) return record;
  record.begun = true;
  record.started = runs_since_;
  record.whole = Plus(wanted, ended_);
  record.ended = ended_;
  // Pods without a role count in all only.
  for (Headcount* heads : {&record.whole, &record.ended}) heads->roles.erase("");
  record.lost = lacks;
  if (lacks != Headcount{}) record.lost_since = since;
  return record;
}

void Past::Adopt(const GangRecord& record, const Headcount& have) {
  adopted_ = true;
  if (!record.begun) return;
  const Headcount wanted = Minus(record.whole, record.ended);
  // Nobody knows what became of those that ran: whatever comes now starts as a whole.
  if (wanted.members > 0 && have.members + record.lost.members == 0) return;
  begun_ = true;
  runs_since_ = record.started;
  whole_ = record.whole;
  ended_ = Plus(record.ended, Minus(Minus(wanted, have), record.lost));
}

}  // namespace muster::engine
