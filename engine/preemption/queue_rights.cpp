#include "engine/preemption/queue_rights.hpp"

#include <utility>
#include <vector>

#include "engine/judging/queue_rules.hpp"
#include "engine/preemption/losses.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Usage;
using queues::Holding;
using queues::Judgement;
using queues::QueueIndex;
using queues::Right;
using queues::Vector;

namespace {

Usage HeldBy(const StandingState& state, const std::vector<const Member*>& members) {
  Usage usage;
  for (const Member* member : members) {
    const cluster::Placement& held = member->held()->placement;
    if (const cluster::Node* node = state.cluster.node(held.node)) usage.Add(held, *node);
  }
  return usage;
}

// Of members that hold something. The priority is that of the whole gang, as in Holdings.
Holding HoldingOf(const StandingState& state, const Gang& gang,
                  const std::vector<const Member*>& members, bool leaves) {
  const QueueBook& book = state.queue_book;
  return {book.IndexOf(QueueOf(gang)), HighestHeld(gang).value_or(INT32_MIN),
          book.tree().Dense(HeldBy(state, members)), leaves};
}

// What leaves for other gangs, or by an operator's order.
std::vector<Holding> GoingBeside(const StandingState& state, const Gang& gang) {
  std::vector<Holding> going;
  for (const auto& [uid, preemptor] : state.preemptions.victims()) {
    const Member* member = state.members.FindMember(uid);
    if (preemptor == gang.id || member == nullptr || member->held() == nullptr) continue;
    going.push_back(HoldingOf(state, *state.members.GangOf(uid), {member}, true));
  }
  return going;
}

// What leaves anyway and is nobody's victim.
std::vector<Holding> LeavingBeside(const StandingState& state, const std::set<PodUid>& victims) {
  std::vector<Holding> leaving;
  for (const auto& [priority, gangs] : state.holdings.all()) {
    for (const auto& [id, gang] : gangs) {
      if (gang->tally.leaving == 0) continue;
      for (const auto& [uid, member] : gang->members) {
        const bool leaves = member.leaving() && member.held() != nullptr &&
                            state.preemptions.PreemptorOf(uid) == nullptr && !victims.contains(uid);
        if (leaves) leaving.push_back(HoldingOf(state, *gang, {&member}, true));
      }
    }
  }
  return leaving;
}

std::vector<cluster::Placement> EarmarksOf(const StandingState& state, const Gang& gang) {
  std::vector<cluster::Placement> planned;
  for (const auto& [uid, member] : gang.members) {
    if (member.planned() && state.cluster.Earmarked(uid))
      planned.push_back(*member.plan->placement);
  }
  return planned;
}

}  // namespace

// What the claimant has of its plan is earmarked, and so charged already.
queues::Rights RightsOf(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  const QueueIndex leaf = book.IndexOf(QueueOf(gang));
  queues::Ledger ledger = book.ledger();
  const std::vector<cluster::Placement> planned = EarmarksOf(state, gang);
  if (!planned.empty()) {
    const Vector own = book.tree().Dense(UsageOf(state, planned));
    Vector used = ledger.used(leaf);
    Vector kept = ledger.non_preemptible(leaf);
    for (size_t r = 0; r < used.size(); ++r) {
      used[r] -= own[r];
      kept[r] -= gang.non_preemptible ? own[r] : 0;
    }
    ledger.Set(leaf, used);
    ledger.SetNonPreemptible(leaf, std::move(kept));
  }
  return {std::move(ledger),
          {leaf, PriorityOf(gang), book.tree().Dense(gang.queue->asks), gang.non_preemptible},
          GoingBeside(state, gang)};
}

namespace {

// What goes of a gang, now or when others of its queue have it evicted; a budget that keeps it does
// so for a while.
std::vector<const Member*> MayGo(const Gang& gang) {
  std::vector<const Member*> all;
  std::vector<const Member*> leaving;
  bool stays = gang.non_preemptible;
  for (const auto& [uid, member] : gang.members) {
    if (member.held() == nullptr) continue;
    all.push_back(&member);
    if (member.leaving()) leaving.push_back(&member);
    stays = stays || (member.holds() && !member.leaving() && !member.ours);
  }
  return stays ? leaving : all;
}

// What gangs of the leaf are to have for which others leave, but for the claimant.
void AddPlanned(const StandingState& state, QueueIndex leaf, const GangId& claimant,
                queues::Ranks& ranks) {
  const QueueBook& book = state.queue_book;
  for (const auto& [id, victims] : state.preemptions.by_preemptor()) {
    const Gang* gang = state.members.Find(id);
    if (gang == nullptr || id == claimant || book.IndexOf(QueueOf(*gang)) != leaf) continue;
    const Vector planned = book.tree().Dense(UsageOf(state, EarmarksOf(state, *gang)));
    Vector& sum = ranks[PriorityOf(*gang)];
    sum.resize(planned.size());
    for (size_t r = 0; r < sum.size(); ++r) sum[r] += gang->non_preemptible ? 0 : planned[r];
  }
}

}  // namespace

void SetRanks(const StandingState& state, const Gang& claimant, QueueIndex leaf,
              queues::Rights& rights) {
  const queues::Tree& tree = state.queue_book.tree();
  if (leaf == tree.orphan()) return;
  queues::Ranks ranks;
  AddPlanned(state, leaf, claimant.id, ranks);
  const auto holders = state.holdings.by_queue().find(tree.at(leaf).name);
  if (holders == state.holdings.by_queue().end()) return;
  const Holdings::Holders& gangs = holders->second;
  const bool alike = gangs.begin()->first.first == gangs.rbegin()->first.first;
  if (alike && (ranks.empty() || ranks.begin()->first >= gangs.begin()->first.first)) return;
  for (const auto& [key, gang] : gangs) {
    Vector& sum = ranks[key.first];
    sum.resize(tree.resources().size());
    const Vector held = tree.Dense(HeldBy(state, MayGo(*gang)));
    for (size_t r = 0; r < sum.size(); ++r) sum[r] += held[r];
  }
  rights.SetRanks(leaf, std::move(ranks));
}

namespace {

// By gang: what goes as a whole or in part.
struct Group {
  std::vector<const Member*> members;
  bool leaves = true;
};

std::map<GangId, Group> GroupsOf(const StandingState& state, const std::set<PodUid>& victims) {
  std::map<GangId, Group> groups;
  for (const PodUid& uid : victims) {
    const Member* member = state.members.FindMember(uid);
    if (member == nullptr || !member->holds() || member->held() == nullptr) continue;
    Group& group = groups[state.members.GangOf(uid)->id];
    group.members.push_back(member);
    group.leaves = group.leaves && member->leaving();
  }
  return groups;
}

struct Judged {
  std::vector<GangId> gangs;
  std::vector<Holding> holdings;
  std::vector<Judgement> judgements;
  bool within_limits = false;
};

Judged JudgeVictims(const StandingState& state, const Gang& gang, const std::set<PodUid>& victims) {
  Judged judged;
  for (const auto& [id, group] : GroupsOf(state, victims)) {
    const Gang& of = *state.members.Find(id);
    judged.gangs.push_back(id);
    judged.holdings.push_back(HoldingOf(state, of, group.members, group.leaves));
  }
  std::vector<const Holding*> set;
  for (const Holding& holding : judged.holdings) set.push_back(&holding);
  queues::Rights rights = RightsOf(state, gang);
  std::set<QueueIndex> leaves;
  for (const Holding& holding : judged.holdings) {
    if (leaves.insert(holding.leaf).second) SetRanks(state, gang, holding.leaf, rights);
  }
  judged.within_limits = !rights.Exceeds(set);
  const std::vector<Holding> leaving = LeavingBeside(state, victims);
  for (const Holding& holding : leaving) set.push_back(&holding);
  judged.within_limits = judged.within_limits && (leaving.empty() || !rights.Exceeds(set));
  judged.judgements = rights.JudgeAll(set);
  judged.judgements.resize(judged.holdings.size());
  return judged;
}

}  // namespace

bool MayEvictByQueues(const StandingState& state, const Gang& gang,
                      const std::set<PodUid>& victims) {
  const Judged judged = JudgeVictims(state, gang, victims);
  for (size_t i = 0; i < judged.gangs.size(); ++i) {
    if (!judged.holdings[i].leaves && judged.judgements[i].right == Right::kNone) return false;
  }
  return judged.within_limits;
}

bool MayEvictByQueues(const StandingState& state, const Gang& gang, const Gang& of,
                      const Member& member) {
  if (member.held() == nullptr) return false;
  const Holding holding = HoldingOf(state, of, {&member}, false);
  queues::Rights rights = RightsOf(state, gang);
  SetRanks(state, gang, holding.leaf, rights);
  return rights.JudgeAlone(holding).right != Right::kNone;
}

std::map<GangId, RightOverGang> RightsOver(const StandingState& state, const Gang& gang,
                                           const std::set<PodUid>& victims) {
  const queues::Tree& tree = state.queue_book.tree();
  const Judged judged = JudgeVictims(state, gang, victims);
  std::map<GangId, RightOverGang> rights;
  for (size_t i = 0; i < judged.gangs.size(); ++i) {
    const Judgement& judgement = judged.judgements[i];
    RightOverGang& right = rights[judged.gangs[i]];
    right.words = judged.holdings[i].leaves ? "it leaves anyway" : Describe(tree, judgement);
    right.over_budgets =
        !judged.holdings[i].leaves && queues::BudgetsGiveWay(tree, judgement.right, judgement.b);
  }
  return rights;
}

std::set<PodUid> OverBudgets(const StandingState& state, const Gang& gang,
                             const std::set<PodUid>& victims, cluster::Time now) {
  std::set<PodUid> over;
  if (!state.budget_watch.may_delete(now)) return over;
  const std::map<GangId, RightOverGang> rights = RightsOver(state, gang, victims);
  for (const PodUid& uid : victims) {
    const Gang* of = state.members.GangOf(uid);
    const auto right = of == nullptr ? rights.end() : rights.find(of->id);
    if (right != rights.end() && right->second.over_budgets) over.insert(uid);
  }
  return over;
}

OnceStarted::OnceStarted(const StandingState& state, const Gang& claimant)
    : state_(state), claimant_(claimant) {
  if (!EvictsAny(state, claimant)) return;
  rights_.emplace(RightsOf(state, claimant));
}

bool OnceStarted::MayEvict(const Gang& holder) {
  if (holder.non_preemptible) return false;
  if (!rights_) return false;
  const QueueBook& book = state_.queue_book;
  std::vector<const Member*> members;
  for (const auto& [uid, member] : holder.members) {
    if (member.held() != nullptr) members.push_back(&member);
  }
  const bool charged = !members.empty();
  const QueueIndex leaf = book.IndexOf(QueueOf(holder));
  if (ranked_.insert(leaf).second) SetRanks(state_, claimant_, leaf, *rights_);
  const Usage usage = charged ? HeldBy(state_, members) : holder.queue->asks;
  const Holding holding{leaf, PriorityOf(holder), book.tree().Dense(usage), false};
  const Judgement judged =
      charged ? rights_->JudgeInOrder({&holding}).front() : rights_->JudgeIfStarted(holding);
  return judged.right != Right::kNone;
}

bool MayHaveCandidates(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  const QueueIndex leaf = book.IndexOf(gang.queue->queue);
  const auto own = state.holdings.by_queue().find(gang.queue->queue);
  const bool within = own != state.holdings.by_queue().end() &&
                      own->second.begin()->first.first < gang.queue->order->priority &&
                      book.tree().at(leaf).preemption.within_queue != queues::WithinQueue::kNever;
  return within || queues::MayReclaim(book.ledger(), leaf, book.tree().Dense(gang.queue->asks));
}

bool EvictsAny(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  const queues::PreemptionSpec& says = book.tree().at(book.IndexOf(QueueOf(gang))).preemption;
  return says.within_queue != queues::WithinQueue::kNever ||
         says.reclaim != queues::Reclaim::kNever;
}

}  // namespace muster::engine
