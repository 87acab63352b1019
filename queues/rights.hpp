// Rights: whom a gang that waits may have evicted (R4, R5), and whether a whole set of victims is
// lawful (R7). Owned by one thread; has its own copy of what the
// queues use.
//
//   R4  of its own queue: gangs of lower priority
//   R5  of another one, where a and b are the children of the lowest common ancestor towards the
//       two: with the gang added a is within its guarantee, and every queue from the victim's up to
//       b is beyond its own before the victim leaves. fair-share: the same of b, and a's share with
//       the gang added is at most b's without the victim. Not where the ancestor's order is fifo:
//       there shares decide nothing.
//       What the victim outranks (Ranks) counts as gone: else it would come back in place of that.
//
// What counts is what is contested: what the gang asks for, the victim holds, and queues are
// guaranteed; where nobody is guaranteed anything: GPUs. Where the gang names a model that is, the
// model is contested and not GPUs of any kind. Nobody takes a device of a model of which its queue
// is within the guarantee.
//
// The right to evict agrees with the order (R2): who may evict goes first while both wait. What
// queues have used (UsageMemory) counts for that order, and for nothing else here: it gives nobody
// a right that the shares of now do not give.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "queues/ledger.hpp"
#include "queues/standing.hpp"

namespace muster::queues {

enum class Right { kNone, kWithinQueue, kGuarantee, kFairShare };

// Why there is none.
enum class Denial {
  kNone,
  kNever,     // the claimant's queue says so
  kPriority,  // R4: the holder's is not lower
  kClaimant,  // R5: the claimant's side would be beyond its guarantee
  kHolder,    // R5: the holder's side is within its guarantee
  kOutranks,  // R5: it is so without what the holder could have evicted itself
};

struct Judgement {
  Right right = Right::kNone;
  Denial denial = Denial::kNone;
  QueueIndex a;  // R5: see above; R4: both are the leaf
  QueueIndex b;
  // A queue of the victim's would be left with less than its guarantee.
  bool straddles = false;
};

struct Claimant {
  QueueIndex leaf;
  int64_t priority = 0;
  Vector asks;
  bool non_preemptible = false;  // R14
};

struct Holding {
  QueueIndex leaf;
  int64_t priority = 0;
  Vector held;
  bool leaves = false;  // anyway
};

// What the gangs of a leaf hold that may be evicted, and what leaves: by their priority.
using Ranks = std::map<int64_t, Vector>;

class Rights {
 public:
  // `ledger`: without anything that is earmarked for the claimant already. `going`: what leaves for
  // others, and is gone by the time. Its queues have nothing of that beyond their guarantees any
  // more; on the claimant's side, and for R3, it counts as long as it is there.
  Rights(Ledger ledger, Claimant claimant, std::vector<Holding> going = {});

  // Of each leaf with holdings that are judged, before they are; with all that is there now, also
  // what leaves for others. Without it all gangs of the leaf count as of the same priority.
  void SetRanks(QueueIndex leaf, Ranks ranks);

  const Claimant& claimant() const { return claimant_; }
  const Tree& tree() const { return ledger_.tree(); }

  // A holding of a leaf may be lawful. `spared`: so much of the claimant's side may leave as well.
  bool MayEvictFrom(QueueIndex leaf, const Vector& spared) const;
  // Each of a set, one after the other in this order; one that is unlawful stays. Those that leave
  // anyway are lawful.
  std::vector<Judgement> JudgeInOrder(const std::vector<const Holding*>& set);
  // Of a set of one. What it holds is beside the claimant's side, which is judged once.
  Judgement JudgeAlone(const Holding& holding);
  // Of one that does not hold that yet, as if it did.
  Judgement JudgeIfStarted(const Holding& holding);
  // R7: each of a set, by position. If they are all lawful in any order, they are here.
  std::vector<Judgement> JudgeAll(const std::vector<const Holding*>& set);
  // Every part of a lawful set is lawful too, and R3 lets the claimant start whoever stays.
  bool PartsAreLawful(const std::vector<const Holding*>& set);
  // R3 for the claimant when all have left; nothing: it may start.
  std::optional<Excess> Exceeds(const std::vector<const Holding*>& set);
  // What is contested of the holding, in units of no matter.
  int64_t ContestedOf(const Holding& holding) const;
  // Each of a set, one after the other in this order: there is more in every queue up to the lowest
  // common ancestor than is guaranteed, when it has left and those before it of which that is so.
  // It is of those that leave anyway.
  std::vector<bool> StayBeyond(const std::vector<const Holding*>& set);

 private:
  // Of the claimant's side when the victims have left, with the gang added: by queue of its path,
  // but for the root.
  struct Side {
    Standing standing;
    Standing present;  // as if nothing was used before
  };
  using Sides = std::map<QueueIndex, Side>;
  Sides SidesOf();
  Sides SidesWithout(const std::vector<const Holding*>& set);
  void Leave(const Holding& holding);
  void Return(const Holding& holding);
  void ReturnAll(const std::vector<const Holding*>& set);
  Judgement Judge(const Sides& sides, const Holding& holding);
  int64_t Outranked(const Holding& holding, size_t resource) const;
  std::vector<size_t> BySize(const std::vector<const Holding*>& set) const;
  std::vector<Judgement> JudgeBySize(const std::vector<const Holding*>& set);
  bool MayTakeByShare(const Judgement& judgement, const Side& side, const Holding& holding);
  bool Beyond(QueueIndex top, const Holding& holding, bool with_outranked = false) const;
  bool Straddles(QueueIndex top, const Holding& holding) const;
  bool Contested(size_t resource) const;
  std::optional<Excess> OwnExcess();
  void ReturnGoing();
  void LeaveGoing();

  Ledger ledger_;  // without `going_`; the same after each call
  Claimant claimant_;
  std::vector<Holding> going_;
  std::map<QueueIndex, Ranks> ranks_;  // without `going_`, as `ledger_`
  bool by_model_ = false;              // it names a model that is contested
  std::optional<Sides> sides_;         // while all are there; nothing: nobody asked
};

// A gang of `claimant` that asks for so much may be able to have gangs of other queues evicted, by
// what its own side uses.
bool MayReclaim(const Ledger& ledger, QueueIndex claimant, const Vector& asks);

// Gangs of `claimant` may be able to have gangs of `holder` evicted, as far as their queues say.
bool MayClaim(const Ledger& ledger, QueueIndex claimant, QueueIndex holder);

// Who has this right over a gang, `b` as in Judgement, has it although PodDisruptionBudgets do not
// let its pods go.
bool BudgetsGiveWay(const Tree& tree, Right right, QueueIndex b);

// For people: "of higher priority in the same queue", …
std::string Describe(const Tree& tree, const Judgement& judgement);

}  // namespace muster::queues
