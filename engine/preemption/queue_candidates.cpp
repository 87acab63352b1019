#include "engine/preemption/queue_candidates.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cluster/holdings/usage.hpp"
#include "engine/preemption/budgets.hpp"
#include "engine/preemption/queue_rights.hpp"
#include "engine/preemption/restart_window.hpp"
#include "engine/standing/standing_state.hpp"
#include "policy/victims/loss.hpp"

namespace muster::engine {

using cluster::Time;
using cluster::Usage;
using queues::Holding;
using queues::Judgement;
using queues::QueueIndex;
using queues::Right;
using queues::Vector;

namespace {

struct Entry {
  const Gang* gang = nullptr;
  Lost lost;
  Holding holding;
  int64_t gpu_milli = 0;
  BarredRights barred;
};

using Entries = std::vector<const Entry*>;

std::vector<const Holding*> HoldingsOf(const Entries& entries) {
  std::vector<const Holding*> holdings;
  holdings.reserve(entries.size());
  for (const Entry* entry : entries) holdings.push_back(&entry->holding);
  return holdings;
}

// Collects whom a gang could have evicted, from its own queue outwards.
class Search {
 public:
  Search(const StandingState& state, const Gang& gang, bool leaving_only, Time now)
      : state_(state),
        gang_(gang),
        leaving_only_(leaving_only),
        now_(now),
        tree_(state.queue_book.tree()),
        rights_(RightsOf(state, gang)),
        budgets_(state),
        spared_(tree_.resources().size()) {}

  QueueCandidates Find();

 private:
  struct Source {
    int64_t depth = 0;  // of the branch on the claimant's side
    QueueIndex leaf;
    const Holdings::Holders* gangs = nullptr;
  };
  std::vector<Source> Sources() const;
  void Collect(const Source& source);
  Usage UsageOf(const Lost& lost) const;
  void Add(const Gang& gang, QueueIndex leaf, Lost lost, const KeptByBudget& kept);
  void CountViolations();
  // Of what budgets keep of gangs of that leaf.
  BarredRights BarredOf(QueueIndex leaf) const;
  // Of its gang as a whole; nothing: it is not protected.
  std::optional<Protector> ShieldOf(const Gang& gang, QueueIndex leaf) const;
  Protector ByBudget(const KeptByBudget& kept, const Judgement& alone, QueueIndex leaf) const;
  void Shield(const Lost& lost, const Protector& by);
  void Refuse(const GangId& gang, const std::string& why);
  void Refuse(const GangId& gang, const Judgement& judgement);
  void Sort();
  Entries InOrder() const;
  // In order, without those that are unlawful after the others.
  Entries Lawful(const Entries& entries);
  Entries WithStraddlers(const Entries& all);
  // Nodes that are promised to the claimant's queues, of which a pod of it takes all GPUs.
  cluster::NodeSet PromisedNodes() const;
  static Entries OfThoseOn(const cluster::NodeSet& nodes, Entries entries);
  // All of them in the order of places; where that is no matter, nothing.
  void AddByPlace(const Entries& entries, std::shared_ptr<const cluster::NodeSet> first);
  LawfulCandidates Choice(const Entries& entries) const;

  const StandingState& state_;
  const Gang& gang_;
  const bool leaving_only_;
  const Time now_;
  const queues::Tree& tree_;
  queues::Rights rights_;
  const BudgetBook budgets_;
  Vector spared_;  // what candidates hold so far
  std::vector<Entry> entries_;
  std::set<GangId> refused_;
  QueueCandidates found_;
};

std::vector<Search::Source> Search::Sources() const {
  std::vector<Source> sources;
  const QueueIndex own = rights_.claimant().leaf;
  for (const auto& [queue, gangs] : state_.holdings.by_queue()) {
    const QueueIndex leaf = state_.queue_book.IndexOf(queue);
    const auto branches = tree_.Diverge(own, leaf);
    sources.push_back({branches ? tree_.at(branches->a).depth : INT64_MAX, leaf, &gangs});
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Source& a, const Source& b) { return a.depth > b.depth; });
  return sources;
}

QueueCandidates Search::Find() {
  for (const Source& source : Sources()) Collect(source);
  // Also of what leaves already: after a restart, say, nobody knows for whom it was evicted.
  const bool some = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& one) {
    return !one.lost.loss.leaves || rights_.JudgeAlone(one.holding).right != Right::kNone;
  });
  if (entries_.empty() || (!some && !leaving_only_ && found_.shielded.gangs == 0)) return found_;
  Sort();
  if (!budgets_.empty()) CountViolations();
  const Entries all = InOrder();
  const auto promised = std::make_shared<const cluster::NodeSet>(PromisedNodes());
  const Entries there = OfThoseOn(*promised, all);
  if (!there.empty()) {
    AddByPlace(there, promised);
    found_.choices.push_back(Choice(Lawful(there)));
  }
  AddByPlace(all, nullptr);
  const Entries first = Lawful(all);
  found_.choices.push_back(Choice(first));
  const bool straddlers = std::any_of(entries_.begin(), entries_.end(),
                                      [](const Entry& entry) { return entry.lost.loss.straddles; });
  if (straddlers && first.size() < entries_.size())
    found_.choices.push_back(Choice(WithStraddlers(all)));
  return std::move(found_);
}

// Those that leave anyway count wherever they are: they are gone before others would be.
void Search::Collect(const Source& source) {
  const bool lawful = rights_.MayEvictFrom(source.leaf, spared_);
  if (lawful && source.leaf != rights_.claimant().leaf)
    SetRanks(state_, gang_, source.leaf, rights_);
  const size_t before = entries_.size();
  std::vector<Lost> losses;
  for (const auto& [key, held_by] : *source.gangs) {
    const auto& [priority, id] = key;
    const Gang& gang = *held_by;
    if (&gang == &gang_ || (!lawful && gang.tally.leaving == 0)) continue;
    if (gang.non_preemptible) Refuse(id, "it is not preemptible");
    losses.clear();
    AddLosses(state_, gang, priority, leaving_only_ || !lawful, losses);
    if (gang.tally.leaving > 0 && KeepsIfLost(state_, gang, now_))
      std::erase_if(losses, [](const Lost& lost) { return lost.loss.leaves; });
    const std::vector<KeptByBudget> kept = FindKept(state_, budgets_, gang, losses);
    for (size_t i = 0; i < losses.size(); ++i)
      Add(gang, source.leaf, std::move(losses[i]), kept.empty() ? KeptByBudget() : kept[i]);
  }
  for (size_t i = before; i < entries_.size(); ++i) {
    if (entries_[i].lost.loss.leaves) continue;
    for (size_t r = 0; r < spared_.size(); ++r) spared_[r] += entries_[i].holding.held[r];
  }
}

Usage Search::UsageOf(const Lost& lost) const {
  const bool models = tree_.names_models();
  Usage usage;
  for (const LostPod& pod : lost.pods) {
    const cluster::Node* node = state_.cluster.node(pod.held->node);
    if (node == nullptr) continue;
    if (models) {
      usage.Add(*pod.held, *node);
    } else {
      cluster::AddBesideModels(usage, *pod.held, *node);
    }
  }
  return usage;
}

BarredRights Search::BarredOf(QueueIndex leaf) const {
  const auto branches = tree_.Diverge(rights_.claimant().leaf, leaf);
  const QueueIndex b = branches ? branches->b : leaf;
  const bool deletes = state_.budget_watch.may_delete(now_);
  BarredRights barred;
  for (const Right right : {Right::kWithinQueue, Right::kGuarantee, Right::kFairShare}) {
    if (!deletes || !queues::BudgetsGiveWay(tree_, right, b)) barred.Add(right);
  }
  return barred;
}

void Search::Add(const Gang& gang, QueueIndex leaf, Lost lost, const KeptByBudget& kept) {
  const Usage usage = UsageOf(lost);
  Holding holding{leaf, lost.loss.holder.priority, tree_.Dense(usage), lost.loss.leaves};
  BarredRights barred;
  if (!lost.loss.leaves) {
    const Judgement alone = rights_.JudgeAlone(holding);
    // The claimant's side may come to be within its guarantee when others leave.
    const bool hopeless = alone.right == Right::kNone && alone.denial != queues::Denial::kClaimant;
    if (hopeless) return Refuse(gang.id, alone);
    if (!kept.why.empty()) {
      barred = BarredOf(leaf);
      // Without a right by itself it has one when others of its own side leave: to its guarantee.
      const Right right = alone.right == Right::kNone ? Right::kGuarantee : alone.right;
      if (barred.Has(right)) return Shield(lost, ByBudget(kept, alone, leaf));
    }
    if (lost.whole) {
      if (const auto shield = ShieldOf(gang, leaf)) return Shield(lost, *shield);
      lost.loss.gpu_time = GpuTimeOf(gang, lost, now_);
    }
    lost.loss.whole = lost.whole;
    lost.loss.straddles = alone.straddles;
  }
  entries_.push_back({&gang, std::move(lost), std::move(holding), usage.gpu_milli, barred});
}

// Where budgets would give way, were Muster let delete pods, that is what it waits for, too.
Protector Search::ByBudget(const KeptByBudget& kept, const Judgement& alone,
                           QueueIndex leaf) const {
  Protector by{kept.until, kept.why, true};
  const auto branches = tree_.Diverge(rights_.claimant().leaf, leaf);
  if (state_.budget_watch.may_delete(now_) ||
      !queues::BudgetsGiveWay(tree_, alone.right, branches ? branches->b : leaf))
    return by;
  by.why += ", and Muster may not delete pods";
  by.until = state_.budget_watch.may_delete_from();
  return by;
}

std::optional<Protector> Search::ShieldOf(const Gang& gang, QueueIndex leaf) const {
  const auto branches = tree_.Diverge(rights_.claimant().leaf, leaf);
  const cluster::Duration least(branches ? tree_.at(branches->b).preemption.min_runtime_reclaim
                                         : tree_.at(leaf).preemption.min_runtime_preempt);
  if (const auto& since = gang.past.running_since(); since && *since + least > now_) {
    return Protector{*since + least, "queue " + tree_.at(branches ? branches->b : leaf).name +
                                         " lets it run for its minRuntime first"};
  }
  const int64_t most = tree_.at(leaf).preemption.max_evictions_per_hour;
  if (const auto until = state_.preemptions.EvictedOftenUntil(AcrossAttempts(gang), most, now_)) {
    return Protector{*until, "it was evicted " + std::to_string(most) +
                                 " times within an hour, which is as often as queue " +
                                 tree_.at(leaf).name + " lets it be"};
  }
  return std::nullopt;
}

void Search::Shield(const Lost& lost, const Protector& by) {
  found_.shielded.Add(lost, by);
  Refuse(lost.loss.holder.gang, by.why);
}

void Search::Refuse(const GangId& gang, const std::string& why) {
  if (found_.refused.size() < QueueCandidates::kMostRefused && refused_.insert(gang).second)
    found_.refused.push_back({gang, why});
}

void Search::Refuse(const GangId& gang, const Judgement& judgement) {
  if (found_.refused.size() < QueueCandidates::kMostRefused)
    Refuse(gang, Describe(tree_, judgement));
}

void Search::Sort() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return policy::SmallerLoss(a.lost.loss, b.lost.loss);
  });
}

void Search::CountViolations() {
  std::vector<Lost*> in_order;
  for (Entry& entry : entries_) in_order.push_back(&entry.lost);
  engine::CountViolations(budgets_, in_order);
  Sort();
}

Entries Search::InOrder() const {
  Entries all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.push_back(&entry);
  return all;
}

Entries Search::Lawful(const Entries& entries) {
  const std::vector<Judgement> judgements = rights_.JudgeInOrder(HoldingsOf(entries));
  Entries lawful;
  std::unordered_set<const Gang*> broken;  // of these a cheaper part stays
  for (size_t i = 0; i < entries.size(); ++i) {
    const Gang* gang = entries[i]->gang;
    const bool leaves = entries[i]->lost.loss.leaves;
    const bool barred = entries[i]->barred.Has(judgements[i].right);
    if (!leaves && (judgements[i].right == Right::kNone || barred || broken.contains(gang))) {
      broken.insert(gang);
      if (barred) Refuse(gang->id, "kept by a PodDisruptionBudget");
      Refuse(gang->id, judgements[i]);
      continue;
    }
    lawful.push_back(entries[i]);
  }
  return lawful;
}

cluster::NodeSet Search::PromisedNodes() const {
  int64_t most = 0;  // of one pod
  for (const auto& [uid, member] : gang_.members)
    most = std::max(most, member.pod->spec->gpus.total().value());
  const cluster::NodeSet nodes =
      state_.shapes.NodesOf(state_.shapes.OwnOf(rights_.claimant().leaf));
  cluster::NodeSet promised;
  for (const cluster::NodeIndex index : nodes.Nodes()) {
    const cluster::Node* node = state_.cluster.node(index);
    const bool all = node != nullptr &&
                     static_cast<int64_t>(node->gpus.size()) * cluster::kWholeGpu.value() <= most;
    if (all) promised.Add(index);
  }
  return promised;
}

// First those on these nodes: the fewest others are there. Elsewhere others may be cheaper, and
// free no whole node. Empty: none is there.
Entries Search::OfThoseOn(const cluster::NodeSet& nodes, Entries entries) {
  const auto there = [&](const LostPod& pod) { return nodes.Contains(pod.held->node); };
  std::unordered_set<const Gang*> gangs;  // their cheaper parts come first, wherever those are
  for (const Entry* entry : entries) {
    const std::vector<LostPod>& pods = entry->lost.pods;
    if (std::any_of(pods.begin(), pods.end(), there)) gangs.insert(entry->gang);
  }
  if (gangs.empty()) return {};
  std::stable_partition(entries.begin(), entries.end(), [&](const Entry* entry) {
    return entry->lost.loss.leaves || gangs.contains(entry->gang);
  });
  return entries;
}

// First those without whom their queues still have more than they are guaranteed; of the others
// members beyond a minimum, then the largest gangs. So a gang goes as a whole only where its queue
// has more than it is guaranteed without any such members: else it could come back within the
// guarantee, and have others evicted in turn.
Entries Search::WithStraddlers(const Entries& all) {
  Entries first;
  Entries last;
  const std::vector<bool> stay = rights_.StayBeyond(HoldingsOf(all));
  for (size_t i = 0; i < all.size(); ++i) (stay[i] ? first : last).push_back(all[i]);
  std::stable_sort(last.begin(), last.end(), [&](const Entry* a, const Entry* b) {
    const int64_t violates = b->lost.loss.violates;
    if (a->lost.loss.violates != violates) return a->lost.loss.violates < violates;
    if (a->lost.whole != b->lost.whole) return b->lost.whole;
    if (!a->lost.whole) return false;
    return rights_.ContestedOf(a->holding) > rights_.ContestedOf(b->holding);
  });
  first.insert(first.end(), last.begin(), last.end());
  return Lawful(first);
}

void Search::AddByPlace(const Entries& entries, std::shared_ptr<const cluster::NodeSet> first) {
  const bool elastic = std::any_of(entries.begin(), entries.end(),
                                   [](const Entry* entry) { return entry->lost.alike != nullptr; });
  if (!elastic) return;
  found_.choices.push_back(Choice(entries));
  found_.choices.back().by_place = true;
  found_.choices.back().first = std::move(first);
}

LawfulCandidates Search::Choice(const Entries& entries) const {
  std::vector<const Lost*> losses;
  std::vector<Holding> holdings;
  std::vector<int64_t> gpu_milli;
  std::vector<BarredRights> barred;
  for (const Entry* entry : entries) {
    barred.push_back(entry->barred);
    losses.push_back(&entry->lost);
    holdings.push_back(entry->holding);
    gpu_milli.push_back(entry->gpu_milli);
  }
  const int64_t ratio = tree_.at(rights_.claimant().leaf).preemption.max_evicted_ratio;
  const int64_t asked = gang_.queue->asks.gpu_milli;
  const int64_t most = asked == 0 || ratio == 0 ? INT64_MAX : ratio * asked;
  LawfulCandidates choice;
  choice.candidates = ToCandidates(losses);
  choice.law = std::make_shared<const QueueLaw>(
      QueueLaw{rights_, std::move(holdings), std::move(gpu_milli), std::move(barred), most});
  return choice;
}

}  // namespace

QueueCandidates FindQueueCandidates(const StandingState& state, const Gang& gang, bool leaving_only,
                                    Time now) {
  return Search(state, gang, leaving_only, now).Find();
}

}  // namespace muster::engine
