#include "engine/standing/victim_choice.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace muster::engine {

using queues::Holding;
using queues::Judgement;
using queues::Right;

bool LawfulSets::MayGo(size_t candidate, const Judgement& judgement) const {
  return law_.holdings[candidate].leaves ||
         (judgement.right != Right::kNone && !law_.barred[candidate].Has(judgement.right));
}

std::vector<const Holding*> LawfulSets::Chosen(const std::vector<bool>& chosen) const {
  std::vector<const Holding*> set;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) set.push_back(&law_.holdings[i]);
  }
  return set;
}

bool LawfulSets::Allows(const std::vector<bool>& chosen) {
  std::vector<const Holding*> set = Chosen(chosen);
  std::vector<size_t> positions;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) positions.push_back(i);
  }
  if (rights_.Exceeds(set)) return false;
  // Those that leave anyway are counted first (R9), wherever they are. What is kept for their
  // queues is free then, and nobody else's.
  const size_t own = set.size();
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] || !law_.holdings[i].leaves) continue;
    set.push_back(&law_.holdings[i]);
    positions.push_back(i);
  }
  if (set.size() > own && rights_.Exceeds(set)) return false;
  const std::vector<Judgement> judgements = rights_.JudgeAll(set);
  for (size_t i = 0; i < set.size(); ++i) {
    if (!MayGo(positions[i], judgements[i])) return false;
  }
  return true;
}

bool LawfulSets::AllowsParts(const std::vector<bool>& chosen) {
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] && law_.barred[i].any()) return false;  // it depends on the right, so on the part
  }
  std::vector<const Holding*> leaving;
  for (const Holding& holding : law_.holdings) {
    if (holding.leaves) leaving.push_back(&holding);
  }
  if (!leaving.empty() && rights_.Exceeds(leaving)) return false;
  return rights_.PartsAreLawful(Chosen(chosen));
}

std::vector<bool> LawfulSets::AllowsInOrder(const std::vector<size_t>& order) {
  std::vector<const Holding*> set;
  set.reserve(order.size());
  for (const size_t i : order) set.push_back(&law_.holdings[i]);
  std::vector<bool> allowed;
  allowed.reserve(order.size());
  for (const Judgement& judgement : rights_.JudgeInOrder(set))
    allowed.push_back(MayGo(order[allowed.size()], judgement));
  return allowed;
}

bool LawfulSets::Moderate(const std::vector<size_t>& chosen) const {
  int64_t evicted = 0;
  for (const size_t i : chosen) {
    if (!law_.holdings[i].leaves) evicted += law_.gpu_milli[i];
  }
  return evicted <= law_.most_gpu_milli;
}

VictimChoice Without(const VictimChoice& choice,
                     const std::function<bool(const policy::Candidate&)>& out) {
  std::vector<policy::Candidate> left;
  using Alike = std::shared_ptr<const std::vector<cluster::Placement>>;
  std::map<Alike, Alike> alike;  // without those that are out
  const auto left_of = [&](const policy::Candidate& candidate) {
    Alike& of = alike[candidate.alike];
    if (of != nullptr || candidate.alike == nullptr) return of;
    std::vector<cluster::Placement> some = *candidate.alike;
    std::erase_if(some, [&](const cluster::Placement& held) {
      policy::Candidate one = candidate;
      one.held = {held};
      return out(one);
    });
    return of = std::make_shared<const std::vector<cluster::Placement>>(std::move(some));
  };
  std::optional<QueueLaw> law;
  if (choice.law != nullptr)
    law = QueueLaw{choice.law->rights, {}, {}, {}, choice.law->most_gpu_milli};
  for (size_t i = 0; i < choice.list->size(); ++i) {
    const policy::Candidate& candidate = (*choice.list)[i];
    if (out(candidate)) continue;
    left.push_back(candidate);
    left.back().alike = left_of(candidate);
    if (!law) continue;
    law->holdings.push_back(choice.law->holdings[i]);
    law->gpu_milli.push_back(choice.law->gpu_milli[i]);
    law->barred.push_back(choice.law->barred[i]);
  }
  VictimChoice chosen;
  chosen.list = std::make_shared<const std::vector<policy::Candidate>>(std::move(left));
  if (law) chosen.law = std::make_shared<const QueueLaw>(std::move(*law));
  chosen.by_place = choice.by_place;
  chosen.first = choice.first;
  return chosen;
}

}  // namespace muster::engine
