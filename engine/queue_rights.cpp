#include "engine/queue_rights.hpp"

#include <utility>
#include <vector>

#include "engine/candidates.hpp"
#include "engine/engine_state.hpp"
#include "engine/losses.hpp"
#include "engine/queue_rules.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Usage;
using queues::Holding;
using queues::Judgement;
using queues::QueueIndex;
using queues::Right;
using queues::Vector;

namespace {

// Of a member that holds something.
Holding HoldingOf(const EngineState& state, const Gang& gang, const Member& member, bool leaves) {
  const cluster::Placement& held = member.held()->placement;
  Usage usage;
  if (const cluster::Node* node = state.cluster.node(held.node)) usage.Add(held, *node);
  const QueueBook& book = state.queue_book;
  return {book.IndexOf(QueueOf(gang)), CappedPriority(gang, member), book.tree().Dense(usage),
          leaves};
}

// What leaves for other gangs, or by an operator's order.
std::vector<Holding> GoingBeside(const EngineState& state, const Gang& gang) {
  std::vector<Holding> going;
  for (const auto& [uid, preemptor] : state.preemptions.victims()) {
    const Member* member = state.members.FindMember(uid);
    if (preemptor == gang.id || member == nullptr || member->held() == nullptr) continue;
    going.push_back(HoldingOf(state, *state.members.GangOf(uid), *member, true));
  }
  return going;
}

// What leaves anyway and is nobody's victim.
std::vector<Holding> LeavingBeside(const EngineState& state, const std::set<PodUid>& victims) {
  std::vector<Holding> leaving;
  for (const auto& [priority, gangs] : state.holdings.all()) {
    for (const auto& [id, gang] : gangs) {
      if (gang->tally.leaving == 0) continue;
      for (const auto& [uid, member] : gang->members) {
        const bool leaves = member.leaving() && member.held() != nullptr &&
                            state.preemptions.PreemptorOf(uid) == nullptr && !victims.contains(uid);
        if (leaves) leaving.push_back(HoldingOf(state, *gang, member, true));
      }
    }
  }
  return leaving;
}

}  // namespace

// What the claimant has of its plan is earmarked, and so charged already.
queues::Rights RightsOf(const EngineState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  const QueueIndex leaf = book.IndexOf(QueueOf(gang));
  queues::Ledger ledger = book.ledger();
  std::vector<cluster::Placement> planned;
  for (const auto& [uid, member] : gang.members) {
    if (member.planned() && state.cluster.Earmarked(uid))
      planned.push_back(*member.plan->placement);
  }
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

Usage HeldBy(const EngineState& state, const std::vector<const Member*>& members) {
  Usage usage;
  for (const Member* member : members) {
    const cluster::Placement& held = member->held()->placement;
    if (const cluster::Node* node = state.cluster.node(held.node)) usage.Add(held, *node);
  }
  return usage;
}

// By gang: what goes as a whole or in part.
struct Group {
  std::vector<const Member*> members;
  bool leaves = true;
};

std::map<GangId, Group> GroupsOf(const EngineState& state, const std::set<PodUid>& victims) {
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

Judged JudgeVictims(const EngineState& state, const Gang& gang, const std::set<PodUid>& victims) {
  const QueueBook& book = state.queue_book;
  Judged judged;
  for (const auto& [id, group] : GroupsOf(state, victims)) {
    const Gang& of = *state.members.Find(id);
    judged.gangs.push_back(id);
    judged.holdings.push_back({book.IndexOf(QueueOf(of)), HighestHeld(of).value_or(INT32_MIN),
                               book.tree().Dense(HeldBy(state, group.members)), group.leaves});
  }
  std::vector<const Holding*> set;
  for (const Holding& holding : judged.holdings) set.push_back(&holding);
  queues::Rights rights = RightsOf(state, gang);
  judged.within_limits = !rights.Exceeds(set);
  const std::vector<Holding> leaving = LeavingBeside(state, victims);
  for (const Holding& holding : leaving) set.push_back(&holding);
  judged.within_limits = judged.within_limits && (leaving.empty() || !rights.Exceeds(set));
  judged.judgements = rights.JudgeAll(set);
  judged.judgements.resize(judged.holdings.size());
  return judged;
}

}  // namespace

bool MayEvictByQueues(const EngineState& state, const Gang& gang, const std::set<PodUid>& victims) {
  const Judged judged = JudgeVictims(state, gang, victims);
  for (size_t i = 0; i < judged.gangs.size(); ++i) {
    if (!judged.holdings[i].leaves && judged.judgements[i].right == Right::kNone) return false;
  }
  return judged.within_limits;
}

std::map<GangId, std::string> RightsOver(const EngineState& state, const Gang& gang,
                                         const std::set<PodUid>& victims) {
  const Judged judged = JudgeVictims(state, gang, victims);
  std::map<GangId, std::string> rights;
  for (size_t i = 0; i < judged.gangs.size(); ++i) {
    rights[judged.gangs[i]] = judged.holdings[i].leaves
                                  ? "it leaves anyway"
                                  : Describe(state.queue_book.tree(), judged.judgements[i]);
  }
  return rights;
}

OnceStarted::OnceStarted(const EngineState& state, const Gang& claimant)
    : state_(state), claimant_(claimant) {
  const QueueBook& book = state.queue_book;
  if (!book.on() || !EvictsAny(state, claimant)) return;
  rights_.emplace(RightsOf(state, claimant));
}

bool OnceStarted::MayEvict(const Gang& holder) {
  if (holder.non_preemptible) return false;
  if (!state_.queue_book.on()) {
    return state_.rules.victims->MayEvict(PreemptorOf(claimant_),
                                          HolderOf(holder, PriorityOf(holder)));
  }
  if (!rights_) return false;
  const QueueBook& book = state_.queue_book;
  std::vector<const Member*> members;
  for (const auto& [uid, member] : holder.members) {
    if (member.held() != nullptr) members.push_back(&member);
  }
  const bool charged = !members.empty();
  const Usage usage = charged ? HeldBy(state_, members) : holder.queue->asks;
  const Holding holding{book.IndexOf(QueueOf(holder)), PriorityOf(holder), book.tree().Dense(usage),
                        false};
  const Judgement judged =
      charged ? rights_->JudgeInOrder({&holding}).front() : rights_->JudgeIfStarted(holding);
  return judged.right != Right::kNone;
}

bool MayHaveCandidates(const EngineState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  const QueueIndex leaf = book.IndexOf(gang.queue->queue);
  const auto own = state.holdings.by_queue().find(gang.queue->queue);
  const bool within = own != state.holdings.by_queue().end() &&
                      own->second.begin()->first.first < gang.queue->order->priority &&
                      book.tree().at(leaf).preemption.within_queue != queues::WithinQueue::kNever;
  return within || queues::MayReclaim(book.ledger(), leaf, book.tree().Dense(gang.queue->asks));
}

bool EvictsAny(const EngineState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  const queues::PreemptionSpec& says = book.tree().at(book.IndexOf(QueueOf(gang))).preemption;
  return says.within_queue != queues::WithinQueue::kNever ||
         says.reclaim != queues::Reclaim::kNever;
}

}  // namespace muster::engine
