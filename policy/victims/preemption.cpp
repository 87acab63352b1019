#include "policy/victims/preemption.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "cluster/holdings/transaction.hpp"
#include "policy/fit/pod_conditions.hpp"
#include "policy/victims/by_place.hpp"
#include "policy/victims/put_back.hpp"

namespace muster::policy {
namespace {

using cluster::NodeIndex;
using cluster::Placement;
using cluster::Transaction;

// Whole plans made again to spare a single victim; each costs as much as a first plan.
constexpr int kReprieves = 16;

class Preemption {
 public:
  Preemption(Placer& placer, const PreemptionInput& input, const std::vector<Demand>& demands,
             const GangTerms& terms)
      : placer_(placer),
        snapshot_(input.snapshot),
        without_(input.without),
        demands_(demands),
        terms_(terms),
        candidates_(input.candidates),
        sets_(input.sets),
        tx_(snapshot_),
        chosen_(candidates_.size(), false) {
    terms_.reasons = false;
  }

  PreemptionAnswer Find() {
    if (candidates_.empty() || !TryAll()) return {};
    Shorten();
    SpareBystanders();
    Reprieve();
    // On a node that holds more than it has nobody can tell whose room was whose.
    if (std::find(chosen_.begin(), chosen_.end(), true) == chosen_.end()) return {};
    PreemptionAnswer answer{true, std::move(placements_), {}};
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (!chosen_[i]) continue;
      answer.victims.push_back(i);
      for (const Placement& held : candidates_[i].held) answer.pods.push_back(held.pod);
    }
    std::sort(answer.pods.begin(), answer.pods.end());
    return answer;
  }

 private:
  bool TryAll() {
    if (!Allowed(std::vector<bool>(candidates_.size(), true))) return false;
    if (without_ == nullptr) return Try(std::vector<bool>(candidates_.size(), true));
    Transaction tx(without_);
    return Take(tx, std::vector<bool>(candidates_.size(), true));
  }

  // Takes these as the victims if the gang fits without them.
  bool Try(std::vector<bool> chosen) {
    if (!Allowed(chosen)) return false;
    Transaction& tx = Evict(chosen);
    return Take(tx, std::move(chosen));
  }

  bool Allowed(const std::vector<bool>& chosen) {
    return sets_ == nullptr || sets_->Allows(chosen);
  }

  bool Take(Transaction& tx, std::vector<bool> chosen) {
    PlaceAnswer answer = placer_.PlaceGang(tx, demands_, NodeFilter::kSchedulable, terms_);
    if (!answer.placed) return false;
    placements_ = std::move(answer.placements);
    chosen_ = std::move(chosen);
    return true;
  }

  // The snapshot without these. What they begin with as those before did is still gone.
  Transaction& Evict(const std::vector<bool>& chosen) {
    size_t same = 0;
    size_t next = 0;
    for (; next < chosen.size(); ++next) {
      const bool is_gone = same < gone_.size() && gone_[same].candidate == next;
      if (chosen[next] != is_gone) break;
      if (is_gone) ++same;
    }
    tx_.RollbackTo(same < gone_.size() ? gone_[same].before : all_gone_);
    gone_.resize(same);
    for (; next < chosen.size(); ++next) {
      if (!chosen[next]) continue;
      gone_.push_back({next, tx_.checkpoint()});
      const Candidate& candidate = candidates_[next];
      for (const Placement& held : candidate.held) tx_.Evict(held, candidate.queue);
    }
    all_gone_ = tx_.checkpoint();
    return tx_;
  }

  // The shortest prefix of candidates that makes room.
  void Shorten() {
    size_t too_few = 0;  // it did not fit without victims, or nobody would ask
    size_t enough = candidates_.size();
    while (enough - too_few > 1) {
      const size_t half = too_few + (enough - too_few) / 2;
      std::vector<bool> prefix(candidates_.size(), false);
      std::fill_n(prefix.begin(), half, true);
      if (Try(std::move(prefix))) {
        enough = half;
      } else {
        too_few = half;
      }
    }
  }

  // Who can keep its place beside the placement found keeps it, dearest first. Room elsewhere than
  // on the gang's nodes is nobody's concern.
  void SpareBystanders() {
    Transaction& tx = Evict(chosen_);
    std::set<NodeIndex> used;
    for (const Placement& placement : placements_) {
      used.insert(placement.node);
      tx.Place(placement);
    }
    const std::unique_ptr<PodConditions> conditions = PodConditions::Of(tx, demands_);
    const bool any_part = sets_ == nullptr || sets_->AllowsParts(chosen_);
    std::set<uint64_t> lost;  // owners that lose more than surplus
    for (size_t i = chosen_.size(); i > 0; --i) {
      if (!chosen_[i - 1]) continue;
      const Candidate& candidate = candidates_[i - 1];
      chosen_[i - 1] = false;
      const bool spared = !lost.contains(candidate.owner) && (any_part || sets_->Allows(chosen_)) &&
                          Return(tx, candidate, used, conditions.get());
      if (spared) continue;
      chosen_[i - 1] = true;
      if (candidate.alike == nullptr) lost.insert(candidate.owner);
    }
  }

  bool Return(Transaction& tx, const Candidate& candidate, const std::set<NodeIndex>& used,
              PodConditions* conditions) const {
    const size_t before = tx.checkpoint();
    for (const Placement& held : candidate.held) {
      if (conditions == nullptr && !used.contains(held.node)) continue;
      if (PutBack(tx, held)) continue;
      tx.RollbackTo(before);
      return false;
    }
    if (conditions != nullptr && !conditions->Hold(demands_, placements_)) {
      tx.RollbackTo(before);
      return false;
    }
    return true;
  }

  // The dearest victims are spared where another placement does without them.
  void Reprieve() {
    std::set<uint64_t> lost;
    int tries = 0;
    for (size_t i = chosen_.size(); i > 0 && tries < kReprieves; --i) {
      if (!chosen_[i - 1] || lost.contains(candidates_[i - 1].owner)) continue;
      std::vector<bool> fewer = chosen_;
      fewer[i - 1] = false;
      ++tries;
      if (std::find(fewer.begin(), fewer.end(), true) != fewer.end() && Try(std::move(fewer))) {
        SpareBystanders();
      } else if (candidates_[i - 1].alike == nullptr) {
        lost.insert(candidates_[i - 1].owner);
      }
    }
  }

  Placer& placer_;
  std::shared_ptr<const cluster::Snapshot> snapshot_;
  std::shared_ptr<const cluster::Snapshot> without_;
  const std::vector<Demand>& demands_;
  GangTerms terms_;
  const std::vector<Candidate>& candidates_;
  VictimSets* const sets_;
  struct Gone {
    size_t candidate;
    size_t before;  // the checkpoint
  };
  Transaction tx_;
  std::vector<Gone> gone_;  // evicted in `tx_`, in this order
  size_t all_gone_ = 0;     // the checkpoint then
  std::vector<bool> chosen_;
  std::vector<Placement> placements_;
};

// Leaves out who may not go after those before it, and what is left of a gang that keeps surplus
// so.
void KeepAllowed(VictimSets& sets, Arrangement& arranged) {
  const std::vector<bool> allowed = sets.AllowsInOrder(arranged.positions);
  Arrangement kept;
  std::set<uint64_t> staying;  // owners of whom a part stays
  for (size_t i = 0; i < allowed.size(); ++i) {
    Candidate& candidate = arranged.candidates[i];
    if (!allowed[i] || (candidate.alike == nullptr && staying.contains(candidate.owner))) {
      staying.insert(candidate.owner);
      continue;
    }
    kept.candidates.push_back(std::move(candidate));
    kept.positions.push_back(arranged.positions[i]);
  }
  arranged = std::move(kept);
}

}  // namespace

PreemptionAnswer PlaceByPreemption(Placer& placer, const PreemptionInput& input,
                                   const std::vector<Demand>& demands, const GangTerms& terms) {
  if (!input.by_place) return Preemption(placer, input, demands, terms).Find();
  Arrangement arranged = ArrangeByPlace(placer, input, demands, terms);
  if (input.sets != nullptr) KeepAllowed(*input.sets, arranged);
  std::optional<SetsOfSome> sets;
  if (input.sets != nullptr) sets.emplace(*input.sets, arranged.positions, input.candidates.size());
  const PreemptionInput those{input.snapshot, nullptr, arranged.candidates,
                              sets ? &*sets : nullptr};
  PreemptionAnswer answer = Preemption(placer, those, demands, terms).Find();
  for (size_t& victim : answer.victims) victim = arranged.positions[victim];
  std::sort(answer.victims.begin(), answer.victims.end());
  return answer;
}

}  // namespace muster::policy
