#include "queues/rights.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/units.hpp"

namespace muster::queues {

using cluster::SaturatingAdd;
using Kind = Resource::Kind;

namespace {

int64_t Less(int64_t a, int64_t b) { return SaturatingAdd(a, -b); }

void AddTo(Ranks& ranks, const Holding& holding, int sign) {
  Vector& sum = ranks[holding.priority];
  sum.resize(holding.held.size());
  for (size_t r = 0; r < sum.size(); ++r) sum[r] = SaturatingAdd(sum[r], sign * holding.held[r]);
}

}  // namespace

Rights::Rights(Ledger ledger, Claimant claimant, std::vector<Holding> going)
    : ledger_(std::move(ledger)), claimant_(std::move(claimant)), going_(std::move(going)) {
  LeaveGoing();
  by_model_ = NamesGuaranteedModel(tree(), claimant_.asks);
}

bool Rights::Contested(size_t resource) const {
  if (claimant_.asks[resource] <= 0 || !tree().contested(resource)) return false;
  return !by_model_ || tree().resources()[resource].kind != Kind::kGpu;
}

void Rights::LeaveGoing() {
  for (const Holding& holding : going_) Leave(holding);
}

void Rights::ReturnGoing() {
  for (const Holding& holding : going_) Return(holding);
}

Rights::Sides Rights::SidesOf() {
  ReturnGoing();
  Sides sides;
  for (const QueueIndex queue : tree().PathOf(claimant_.leaf)) {
    if (queue == kRootIndex) continue;
    sides[queue] = {StandingOf(ledger_, queue, claimant_.asks),
                    StandingOf(ledger_, queue, claimant_.asks, Past::kIgnored)};
  }
  LeaveGoing();
  return sides;
}

Rights::Sides Rights::SidesWithout(const std::vector<const Holding*>& set) {
  for (const Holding* holding : set) Leave(*holding);
  Sides sides = SidesOf();
  ReturnAll(set);
  return sides;
}

void Rights::SetRanks(QueueIndex leaf, Ranks ranks) {
  if (tree().at(leaf).preemption.within_queue == WithinQueue::kNever) return;
  for (const Holding& holding : going_) {
    if (holding.leaf == leaf) AddTo(ranks, holding, -1);
  }
  ranks_[leaf] = std::move(ranks);
}

void Rights::Leave(const Holding& holding) {
  for (size_t r = 0; r < holding.held.size(); ++r)
    ledger_.Set(holding.leaf, r, Less(ledger_.used(holding.leaf)[r], holding.held[r]));
  if (const auto ranks = ranks_.find(holding.leaf); ranks != ranks_.end())
    AddTo(ranks->second, holding, -1);
}

void Rights::Return(const Holding& holding) {
  for (size_t r = 0; r < holding.held.size(); ++r)
    ledger_.Set(holding.leaf, r, SaturatingAdd(ledger_.used(holding.leaf)[r], holding.held[r]));
  if (const auto ranks = ranks_.find(holding.leaf); ranks != ranks_.end())
    AddTo(ranks->second, holding, 1);
}

// What is there of lower priority in its leaf.
int64_t Rights::Outranked(const Holding& holding, size_t resource) const {
  const auto ranks = ranks_.find(holding.leaf);
  if (ranks == ranks_.end()) return 0;
  int64_t sum = 0;
  for (const auto& [priority, held] : ranks->second) {
    if (priority >= holding.priority) break;
    sum = SaturatingAdd(sum, std::max<int64_t>(0, held[resource]));
  }
  return sum;
}

void Rights::ReturnAll(const std::vector<const Holding*>& set) {
  for (const Holding* holding : set) Return(*holding);
}

// Every queue from the leaf up to `top` uses more than it is guaranteed of something contested that
// the holding has, and of each model of its that is guaranteed there; without what the holding
// outranks.
bool Rights::Beyond(QueueIndex top, const Holding& holding, bool with_outranked) const {
  const auto beyond_all_the_way = [&](size_t r) {
    const int64_t outranked = with_outranked ? 0 : Outranked(holding, r);
    for (QueueIndex queue = holding.leaf;; queue = tree().at(queue).parent) {
      if (Less(ledger_.used(queue)[r], outranked) <= tree().at(queue).guarantee[r]) return false;
      if (queue == top) return true;
    }
  };
  const auto guaranteed_on_the_way = [&](size_t r) {
    for (QueueIndex queue = holding.leaf;; queue = tree().at(queue).parent) {
      if (tree().at(queue).guarantee[r] > 0) return true;
      if (queue == top) return false;
    }
  };
  bool any = false;
  for (size_t r = 0; r < holding.held.size(); ++r) {
    if (holding.held[r] <= 0) continue;
    const bool model = tree().resources()[r].kind == Kind::kGpuModel;
    const bool contested = Contested(r);
    if (!contested && !model) continue;
    const bool beyond = beyond_all_the_way(r);
    if (model && !beyond && guaranteed_on_the_way(r)) return false;
    any = any || (contested && beyond);
  }
  return any;
}

bool Rights::Straddles(QueueIndex top, const Holding& holding) const {
  for (size_t r = 0; r < holding.held.size(); ++r) {
    if (holding.held[r] <= 0 || !Contested(r)) continue;
    const int64_t gone = SaturatingAdd(Outranked(holding, r), holding.held[r]);
    for (QueueIndex queue = holding.leaf;; queue = tree().at(queue).parent) {
      const int64_t left = Less(ledger_.used(queue)[r], gone);
      if (left < tree().at(queue).guarantee[r]) return true;
      if (queue == top) break;
    }
  }
  return false;
}

Judgement Rights::Judge(const Sides& sides, const Holding& holding) {
  const PreemptionSpec& says = tree().at(claimant_.leaf).preemption;
  const auto denied = [](Judgement judgement, Denial denial) {
    judgement.denial = denial;
    return judgement;
  };
  const std::optional<Tree::Branches> branches = tree().Diverge(claimant_.leaf, holding.leaf);
  if (!branches) {  // R4
    Judgement own{Right::kNone, Denial::kNone, claimant_.leaf, claimant_.leaf};
    if (says.within_queue == WithinQueue::kNever) return denied(own, Denial::kNever);
    if (holding.priority >= claimant_.priority) return denied(own, Denial::kPriority);
    own.right = Right::kWithinQueue;
    return own;
  }
  Judgement judgement{Right::kNone, Denial::kNone, branches->a, branches->b};
  if (says.reclaim == Reclaim::kNever) return denied(judgement, Denial::kNever);
  if (!Beyond(branches->b, holding)) {
    const bool by_outranked = Beyond(branches->b, holding, true);
    return denied(judgement, by_outranked ? Denial::kOutranks : Denial::kHolder);
  }
  judgement.straddles = Straddles(branches->b, holding);
  const Side& side = sides.at(branches->a);
  if (side.standing.within) {
    judgement.right = Right::kGuarantee;
    return judgement;
  }
  const bool fair = tree().at(tree().at(branches->a).parent).fair();
  if (says.reclaim != Reclaim::kFairShare || !fair) return denied(judgement, Denial::kClaimant);
  if (!MayTakeByShare(judgement, side, holding)) return denied(judgement, Denial::kClaimant);
  judgement.right = Right::kFairShare;
  return judgement;
}

// With the holding's gang back its queue must come after: shares that are equal decide nothing.
bool Rights::MayTakeByShare(const Judgement& judgement, const Side& side, const Holding& holding) {
  Holding gone = holding;
  for (size_t r = 0; r < gone.held.size(); ++r)
    gone.held[r] = SaturatingAdd(gone.held[r], Outranked(holding, r));
  Leave(gone);
  const Standing after =
      StandingOf(ledger_, judgement.b, Vector(holding.held.size()), Past::kIgnored);
  const Standing back = StandingOf(ledger_, judgement.b, holding.held);
  Return(gone);
  return std::is_lteq(CompareShares(side.present, after)) &&
         std::is_lt(Compare(side.standing, back));
}

bool Rights::MayEvictFrom(QueueIndex leaf, const Vector& spared) const {
  const PreemptionSpec& says = tree().at(claimant_.leaf).preemption;
  const std::optional<Tree::Branches> branches = tree().Diverge(claimant_.leaf, leaf);
  if (!branches) return says.within_queue != WithinQueue::kNever;
  if (says.reclaim == Reclaim::kNever) return false;
  bool any = false;
  for (size_t r = 0; r < claimant_.asks.size(); ++r) {
    if (!Contested(r)) continue;
    any = any || ledger_.used(leaf)[r] > tree().at(leaf).guarantee[r];
    const int64_t with =
        Less(SaturatingAdd(ledger_.used(branches->a)[r], claimant_.asks[r]), spared[r]);
    if (says.reclaim == Reclaim::kGuarantee && with > tree().at(branches->a).guarantee[r])
      return false;
  }
  return any;
}

std::vector<Judgement> Rights::JudgeInOrder(const std::vector<const Holding*>& set) {
  const Sides sides = SidesWithout(set);
  std::vector<Judgement> judgements;
  judgements.reserve(set.size());
  std::vector<const Holding*> left;
  for (const Holding* holding : set) {
    judgements.push_back(Judge(sides, *holding));
    if (!holding->leaves && judgements.back().right == Right::kNone) continue;
    Leave(*holding);
    left.push_back(holding);
  }
  ReturnAll(left);
  return judgements;
}

Judgement Rights::JudgeAlone(const Holding& holding) {
  if (!sides_) sides_ = SidesOf();
  return Judge(*sides_, holding);
}

Judgement Rights::JudgeIfStarted(const Holding& holding) {
  Return(holding);
  const Judgement judged = JudgeInOrder({&holding}).front();
  Leave(holding);
  return judged;
}

// Backwards: when all have gone they come back one by one, each as soon as it would be lawful as
// the next one to go. Who comes back makes nobody else less lawful, so all come back if in any
// order.
std::vector<Judgement> Rights::JudgeAll(const std::vector<const Holding*>& set) {
  const Sides sides = SidesWithout(set);
  for (const Holding* holding : set) Leave(*holding);
  std::vector<Judgement> judgements(set.size());
  std::vector<size_t> gone = BySize(set);
  std::reverse(gone.begin(), gone.end());
  std::erase_if(gone, [&](size_t i) { return set[i]->leaves; });
  for (size_t before = SIZE_MAX; before != gone.size();) {
    before = gone.size();
    std::erase_if(gone, [&](size_t i) {
      Return(*set[i]);
      judgements[i] = Judge(sides, *set[i]);
      if (judgements[i].right != Right::kNone) return true;
      Leave(*set[i]);
      return false;
    });
  }
  for (const size_t i : gone) Return(*set[i]);
  for (const Holding* holding : set) {
    if (holding->leaves) Return(*holding);
  }
  return gone.empty() ? judgements : JudgeBySize(set);
}

// Those that leave anyway first, then the smallest.
std::vector<size_t> Rights::BySize(const std::vector<const Holding*>& set) const {
  std::vector<size_t> order(set.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    if (set[x]->leaves != set[y]->leaves) return set[x]->leaves;
    return ContestedOf(*set[x]) < ContestedOf(*set[y]);
  });
  return order;
}

// Of a set that is not lawful, which of it is.
std::vector<Judgement> Rights::JudgeBySize(const std::vector<const Holding*>& set) {
  const std::vector<size_t> order = BySize(set);
  std::vector<const Holding*> ordered;
  ordered.reserve(order.size());
  for (const size_t i : order) ordered.push_back(set[i]);
  const std::vector<Judgement> in_order = JudgeInOrder(ordered);
  std::vector<Judgement> judgements(set.size());
  for (size_t i = 0; i < order.size(); ++i) judgements[order[i]] = in_order[i];
  return judgements;
}

// Both when all that leaves for others is gone, and as long as it is there.
std::optional<Excess> Rights::OwnExcess() {
  const auto now = [&]() -> std::optional<Excess> {
    if (claimant_.non_preemptible) {
      if (auto excess = ledger_.ExceedsGuarantee(claimant_.leaf, claimant_.asks)) return excess;
    }
    return ledger_.Exceeds(claimant_.leaf, claimant_.asks);
  };
  std::optional<Excess> excess = now();
  if (excess || going_.empty()) return excess;
  ReturnGoing();
  excess = now();
  LeaveGoing();
  return excess;
}

bool Rights::PartsAreLawful(const std::vector<const Holding*>& set) {
  if (OwnExcess()) return false;
  const Sides sides = SidesOf();
  return std::all_of(set.begin(), set.end(), [&](const Holding* holding) {
    const auto branches = tree().Diverge(claimant_.leaf, holding->leaf);
    return holding->leaves || !branches || sides.at(branches->a).standing.within;
  });
}

std::optional<Excess> Rights::Exceeds(const std::vector<const Holding*>& set) {
  for (const Holding* holding : set) Leave(*holding);
  const std::optional<Excess> excess = OwnExcess();
  ReturnAll(set);
  return excess;
}

int64_t Rights::ContestedOf(const Holding& holding) const {
  int64_t sum = 0;
  for (size_t r = 0; r < holding.held.size(); ++r) {
    if (Contested(r)) sum = SaturatingAdd(sum, holding.held[r]);
  }
  return sum;
}

std::vector<bool> Rights::StayBeyond(const std::vector<const Holding*>& set) {
  std::vector<bool> stay;
  stay.reserve(set.size());
  std::vector<const Holding*> left;
  for (const Holding* holding : set) {
    const std::optional<Tree::Branches> branches = tree().Diverge(claimant_.leaf, holding->leaf);
    Leave(*holding);
    stay.push_back(holding->leaves || !branches || Beyond(branches->b, *holding));
    if (stay.back()) {
      left.push_back(holding);
    } else {
      Return(*holding);
    }
  }
  ReturnAll(left);
  return stay;
}

bool MayReclaim(const Ledger& ledger, QueueIndex claimant, const Vector& asks) {
  const Tree& tree = ledger.tree();
  const PreemptionSpec& says = tree.at(claimant).preemption;
  if (says.reclaim != Reclaim::kGuarantee) return says.reclaim == Reclaim::kFairShare;
  const bool by_model = NamesGuaranteedModel(tree, asks);
  for (QueueIndex a = claimant; a != kRootIndex; a = tree.at(a).parent) {
    bool within = false;
    bool beyond = false;
    for (size_t r = 0; r < asks.size(); ++r) {
      if (asks[r] <= 0 || !tree.guaranteed(r) || (by_model && r == Tree::kGpu)) continue;
      const int64_t with = SaturatingAdd(ledger.used(a)[r], asks[r]);
      (with <= tree.at(a).guarantee[r] ? within : beyond) = true;
    }
    if (within && !beyond) return true;
  }
  return false;
}

bool MayClaim(const Ledger& ledger, QueueIndex claimant, QueueIndex holder) {
  const Tree& tree = ledger.tree();
  const PreemptionSpec& says = tree.at(claimant).preemption;
  const std::optional<Tree::Branches> branches = tree.Diverge(claimant, holder);
  if (!branches) return says.within_queue != WithinQueue::kNever;
  if (says.reclaim != Reclaim::kGuarantee) return says.reclaim == Reclaim::kFairShare;
  const auto below = [&](QueueIndex queue, size_t r) {
    return ledger.used(queue)[r] < tree.at(queue).guarantee[r];
  };
  for (size_t r = 0; r < tree.resources().size(); ++r) {
    if (tree.guaranteed(r) && below(branches->a, r) && !below(branches->b, r)) return true;
  }
  return false;
}

bool BudgetsGiveWay(const Tree& tree, Right right, QueueIndex b) {
  const PreemptionSpec& says = tree.at(b).preemption;
  switch (right) {
    case Right::kWithinQueue:
      return says.budgets_preempt == Budgets::kPrefer;
    case Right::kGuarantee:
      return says.budgets_guarantee == Budgets::kPrefer;
    case Right::kFairShare:
      return says.budgets_fair_share == Budgets::kPrefer;
    case Right::kNone:
      break;
  }
  return false;
}

std::string Describe(const Tree& tree, const Judgement& judgement) {
  const std::string a = "queue " + tree.at(judgement.a).name;
  const std::string b = "queue " + tree.at(judgement.b).name;
  switch (judgement.right) {
    case Right::kWithinQueue:
      return "of higher priority" + (judgement.a == kRootIndex ? "" : " in " + a);
    case Right::kGuarantee:
      return "within the guarantee of " + a + ", beyond which " + b + " is";
    case Right::kFairShare:
      return "of " + a + ", which is further below its share than " + b;
    case Right::kNone:
      break;
  }
  switch (judgement.denial) {
    case Denial::kNever:
      return a + " evicts nobody";
    case Denial::kPriority:
      return "it is not of lower priority";
    case Denial::kClaimant:
      return a + " would be beyond its guarantee";
    case Denial::kHolder:
      return b + " is within its guarantee";
    case Denial::kOutranks:
      return b + " is beyond its guarantee only by gangs of lower priority";
    case Denial::kNone:
      break;
  }
  return "it may not be evicted";
}

}  // namespace muster::queues
