#include "engine/queue_candidates.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/candidates.hpp"
#include "engine/engine_state.hpp"
#include "engine/queue_rules.hpp"
#include "policy/victim_rule.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Time;
using cluster::Usage;
using queues::Holding;
using queues::Judgement;
using queues::QueueIndex;
using queues::Right;
using queues::Vector;

namespace {

struct Entry {
  Lost lost;
  Holding holding;
  int64_t gpu_milli = 0;
};

Usage HeldBy(const EngineState& state, const std::vector<const Member*>& members) {
  Usage usage;
  for (const Member* member : members) {
    const cluster::Placement& held = state.cluster.AllocationOf(member->uid)->placement;
    if (const cluster::Node* node = state.cluster.node(held.node))
      usage += cluster::UsageOf(held, *node);
  }
  return usage;
}

using Entries = std::vector<const Entry*>;

std::vector<const Holding*> HoldingsOf(const Entries& entries) {
  std::vector<const Holding*> holdings;
  holdings.reserve(entries.size());
  for (const Entry* entry : entries) holdings.push_back(&entry->holding);
  return holdings;
}

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
          {leaf, PriorityOf(gang), book.tree().Dense(gang.queue->asks), gang.non_preemptible}};
}

// Collects whom a gang could have evicted, from its own queue outwards.
class Search {
 public:
  Search(const EngineState& state, const Gang& gang, bool leaving_only, Time now)
      : state_(state),
        gang_(gang),
        leaving_only_(leaving_only),
        now_(now),
        tree_(state.queue_book.tree()),
        rights_(RightsOf(state, gang)),
        spared_(tree_.resources().size()) {}

  QueueCandidates Find();

 private:
  struct Source {
    int64_t depth = 0;  // of the branch on the claimant's side
    QueueIndex leaf;
    const Preemptions::Holders* gangs = nullptr;
  };
  std::vector<Source> Sources() const;
  void Collect(const Source& source);
  void Add(const Gang& gang, QueueIndex leaf, Lost lost);
  // Until when its gang is protected as a whole; nothing: it is not.
  std::optional<std::pair<Time, std::string>> ShieldOf(const Gang& gang, QueueIndex leaf) const;
  void Shield(const Lost& lost, const std::pair<Time, std::string>& by);
  void Refuse(const GangId& gang, const std::string& why);
  void Sort();
  // In order, without those that are unlawful after the others.
  Entries Lawful(const Entries& entries);
  Entries WithStraddlers();
  Entries OfPromisedFirst(Entries entries) const;
  LawfulCandidates Choice(const Entries& entries) const;

  const EngineState& state_;
  const Gang& gang_;
  const bool leaving_only_;
  const Time now_;
  const queues::Tree& tree_;
  queues::Rights rights_;
  Vector spared_;  // what candidates hold so far
  std::vector<Entry> entries_;
  std::set<GangId> refused_;
  QueueCandidates found_;
};

std::vector<Search::Source> Search::Sources() const {
  std::vector<Source> sources;
  const QueueIndex own = rights_.claimant().leaf;
  for (const auto& [queue, gangs] : state_.preemptions.holding_in()) {
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
  const bool some = std::any_of(entries_.begin(), entries_.end(),
                                [](const Entry& one) { return !one.lost.loss.leaves; });
  if (entries_.empty() || (!some && !leaving_only_ && found_.shielded.gangs == 0)) return found_;
  Sort();
  Entries all;
  for (const Entry& entry : entries_) all.push_back(&entry);
  const Entries there = OfPromisedFirst(all);
  if (!there.empty()) found_.choices.push_back(Choice(Lawful(there)));
  const Entries first = Lawful(all);
  found_.choices.push_back(Choice(first));
  const bool straddlers = std::any_of(entries_.begin(), entries_.end(),
                                      [](const Entry& entry) { return entry.lost.loss.straddles; });
  if (straddlers && first.size() < entries_.size())
    found_.choices.push_back(Choice(WithStraddlers()));
  return std::move(found_);
}

// Those that leave anyway count wherever they are: they are gone before others would be.
void Search::Collect(const Source& source) {
  const bool lawful = rights_.MayEvictFrom(source.leaf, spared_);
  for (const auto& [priority, id] : *source.gangs) {
    const Gang& gang = *state_.members.Find(id);
    if (&gang == &gang_ || (!lawful && gang.tally.leaving == 0)) continue;
    if (gang.non_preemptible) Refuse(id, "it is not preemptible");
    std::vector<Lost> losses;
    AddLosses(state_, gang, priority, leaving_only_ || !lawful, losses);
    for (Lost& lost : losses) Add(gang, source.leaf, std::move(lost));
  }
  for (const Entry& entry : entries_) {
    if (entry.holding.leaf != source.leaf || entry.lost.loss.leaves) continue;
    for (size_t r = 0; r < spared_.size(); ++r) spared_[r] += entry.holding.held[r];
  }
}

void Search::Add(const Gang& gang, QueueIndex leaf, Lost lost) {
  Usage usage;
  for (const LostPod& pod : lost.pods) {
    if (const cluster::Node* node = state_.cluster.node(pod.held->node))
      usage += cluster::UsageOf(*pod.held, *node);
  }
  Holding holding{leaf, lost.loss.holder.priority, tree_.Dense(usage), lost.loss.leaves};
  if (!lost.loss.leaves) {
    const Judgement alone = rights_.JudgeInOrder({&holding}).front();
    // The claimant's side may come to be within its guarantee when others leave.
    const bool hopeless = alone.right == Right::kNone && alone.denial != queues::Denial::kClaimant;
    if (hopeless) return Refuse(gang.id, Describe(tree_, alone));
    if (lost.whole) {
      if (const auto shield = ShieldOf(gang, leaf)) return Shield(lost, *shield);
      const auto& since = gang.past.running_since();
      if (since && *since < now_)
        lost.loss.gpu_time = usage.gpu_milli / 100 * ((now_ - *since).value() / 1000);
    }
    lost.loss.whole = lost.whole;
    lost.loss.straddles = alone.straddles;
  }
  entries_.push_back({std::move(lost), std::move(holding), usage.gpu_milli});
}

std::optional<std::pair<Time, std::string>> Search::ShieldOf(const Gang& gang,
                                                             QueueIndex leaf) const {
  const auto branches = tree_.Diverge(rights_.claimant().leaf, leaf);
  const cluster::Duration least(branches ? tree_.at(branches->b).preemption.min_runtime_reclaim
                                         : tree_.at(leaf).preemption.min_runtime_preempt);
  if (const auto& since = gang.past.running_since(); since && *since + least > now_) {
    return std::pair(*since + least, "queue " + tree_.at(branches ? branches->b : leaf).name +
                                         " lets it run for its minRuntime first");
  }
  const int64_t most = tree_.at(leaf).preemption.max_evictions_per_hour;
  if (const auto until = state_.preemptions.EvictedOftenUntil(gang.id, most, now_)) {
    return std::pair(*until, "it was evicted " + std::to_string(most) +
                                 " times within an hour, which is as often as queue " +
                                 tree_.at(leaf).name + " lets it be");
  }
  return std::nullopt;
}

void Search::Shield(const Lost& lost, const std::pair<Time, std::string>& by) {
  Shielded& shielded = found_.shielded;
  ++shielded.gangs;
  const std::string& name = lost.loss.holder.gang.key.ToString();
  if (!shielded.until || by.first < *shielded.until) {
    shielded.until = by.first;
    shielded.why = "gang " + name + ": " + by.second;
  }
  shielded.candidates.push_back(std::move(ToCandidates({lost}).front()));
  Refuse(lost.loss.holder.gang, by.second);
}

void Search::Refuse(const GangId& gang, const std::string& why) {
  if (found_.refused.size() < QueueCandidates::kMostRefused && refused_.insert(gang).second)
    found_.refused.push_back({gang, why});
}

void Search::Sort() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return policy::SmallerLoss(a.lost.loss, b.lost.loss);
  });
}

Entries Search::Lawful(const Entries& entries) {
  const std::vector<Judgement> judgements = rights_.JudgeInOrder(HoldingsOf(entries));
  Entries lawful;
  std::set<GangId> broken;  // of these a cheaper part stays
  for (size_t i = 0; i < entries.size(); ++i) {
    const GangId& id = entries[i]->lost.loss.holder.gang;
    const bool leaves = entries[i]->lost.loss.leaves;
    if (!leaves && (judgements[i].right == Right::kNone || broken.contains(id))) {
      broken.insert(id);
      Refuse(id, Describe(tree_, judgements[i]));
      continue;
    }
    lawful.push_back(entries[i]);
  }
  return lawful;
}

// First those on nodes that are promised to the claimant's queues, of which a pod of it takes all
// GPUs: the fewest others are there. Elsewhere others may be cheaper, and free no whole node.
// Empty: none is there.
Entries Search::OfPromisedFirst(Entries entries) const {
  int64_t most = 0;  // of one pod
  for (const auto& [uid, member] : gang_.members)
    most = std::max(most, member.pod->spec->gpus.total().value());
  const cluster::NodeSet nodes =
      state_.shapes.NodesOf(state_.shapes.OwnOf(rights_.claimant().leaf));
  const auto there = [&](const LostPod& pod) {
    const cluster::Node* node = state_.cluster.node(pod.held->node);
    return node != nullptr && nodes.Contains(pod.held->node) &&
           static_cast<int64_t>(node->gpus.size()) * cluster::kWholeGpu.value() <= most;
  };
  std::set<GangId> gangs;  // of whom the cheaper parts come first, wherever they are
  for (const Entry* entry : entries) {
    const std::vector<LostPod>& pods = entry->lost.pods;
    if (std::any_of(pods.begin(), pods.end(), there)) gangs.insert(entry->lost.loss.holder.gang);
  }
  if (gangs.empty()) return {};
  std::stable_partition(entries.begin(), entries.end(), [&](const Entry* entry) {
    return entry->lost.loss.leaves || gangs.contains(entry->lost.loss.holder.gang);
  });
  return entries;
}

// First those without whom their queues still have more than they are guaranteed, then of the
// others the largest.
Entries Search::WithStraddlers() {
  Entries first;
  Entries last;
  for (const Entry& entry : entries_) {
    const bool stays =
        entry.lost.loss.leaves || rights_.StaysBeyond(HoldingsOf(first), entry.holding);
    (stays ? first : last).push_back(&entry);
  }
  std::stable_sort(last.begin(), last.end(), [&](const Entry* a, const Entry* b) {
    const bool same = a->lost.loss.holder.gang == b->lost.loss.holder.gang;
    return same ? a->lost.loss.step < b->lost.loss.step
                : rights_.ContestedOf(a->holding) > rights_.ContestedOf(b->holding);
  });
  first.insert(first.end(), last.begin(), last.end());
  return Lawful(first);
}

LawfulCandidates Search::Choice(const Entries& entries) const {
  std::vector<Lost> losses;
  std::vector<Holding> holdings;
  std::vector<int64_t> gpu_milli;
  for (const Entry* entry : entries) {
    losses.push_back(entry->lost);
    holdings.push_back(entry->holding);
    gpu_milli.push_back(entry->gpu_milli);
  }
  const int64_t ratio = tree_.at(rights_.claimant().leaf).preemption.max_evicted_ratio;
  const int64_t asked = gang_.queue->asks.gpu_milli;
  const int64_t most = asked == 0 || ratio == 0 ? INT64_MAX : ratio * asked;
  return {ToCandidates(losses), std::make_shared<const QueueLaw>(QueueLaw{
                                    rights_, std::move(holdings), std::move(gpu_milli), most})};
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
    if (member == nullptr || !member->holds() || state.cluster.AllocationOf(uid) == nullptr)
      continue;
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
  judged.judgements = rights.JudgeAll(set);
  judged.within_limits = !rights.Exceeds(set);
  return judged;
}

}  // namespace

std::vector<const Holding*> LawfulSets::Chosen(const std::vector<bool>& chosen) const {
  std::vector<const Holding*> set;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) set.push_back(&law_.holdings[i]);
  }
  return set;
}

bool LawfulSets::Allows(const std::vector<bool>& chosen) {
  const std::vector<const Holding*> set = Chosen(chosen);
  if (rights_.Exceeds(set)) return false;
  const std::vector<Judgement> judgements = rights_.JudgeAll(set);
  for (size_t i = 0; i < set.size(); ++i) {
    if (!set[i]->leaves && judgements[i].right == Right::kNone) return false;
  }
  return true;
}

bool LawfulSets::AllowsParts(const std::vector<bool>& chosen) {
  return rights_.PartsAreLawful(Chosen(chosen));
}

bool LawfulSets::Moderate(const std::vector<size_t>& chosen) const {
  int64_t evicted = 0;
  for (const size_t i : chosen) {
    if (!law_.holdings[i].leaves) evicted += law_.gpu_milli[i];
  }
  return evicted <= law_.most_gpu_milli;
}

QueueCandidates FindQueueCandidates(const EngineState& state, const Gang& gang, bool leaving_only,
                                    Time now) {
  return Search(state, gang, leaving_only, now).Find();
}

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
    if (state_.cluster.AllocationOf(uid) != nullptr) members.push_back(&member);
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
  const auto own = state.preemptions.holding_in().find(gang.queue->queue);
  const bool within = own != state.preemptions.holding_in().end() &&
                      own->second.begin()->first < PriorityOf(gang) &&
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
