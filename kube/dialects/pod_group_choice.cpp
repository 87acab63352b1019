#include "kube/dialects/pod_group_choice.hpp"

#include <algorithm>
#include <tuple>
#include <variant>

namespace muster::kube {

using cluster::PodGroup;
using cluster::PodGroupUid;
using engine::Fact;

PodGroupChoice::Told PodGroupChoice::Observe(const Fact& fact) {
  if (const auto* group = std::get_if<PodGroup>(&fact)) return ObserveObject(*group);
  if (const auto* gone = std::get_if<engine::PodGroupRemoved>(&fact)) {
    return ObserveEnd(gone->uid, fact);
  }
  if (const auto* unserved = std::get_if<engine::PodGroupUnserved>(&fact)) {
    return ObserveEnd(unserved->uid, fact);
  }
  return {{fact}, false};
}

PodGroupChoice::Told PodGroupChoice::ObserveObject(const PodGroup& group) {
  const bool is_new = key_of_.emplace(group.uid, group.key).second;
  Rivals& rivals = rivals_[group.key];
  rivals.objects.insert_or_assign(group.uid, group);
  const PodGroup& oldest = Oldest(rivals);
  if (oldest.uid != group.uid) return {{}, is_new};
  Told told;
  if (!rivals.told.empty() && rivals.told != oldest.uid) {
    told.facts.emplace_back(engine::PodGroupUnserved{rivals.told});
  }
  rivals.told = oldest.uid;
  told.facts.emplace_back(group);
  return told;
}

PodGroupChoice::Told PodGroupChoice::ObserveEnd(const PodGroupUid& uid, const Fact& fact) {
  Told told{{fact}, false};
  const auto found = key_of_.find(uid);
  if (found == key_of_.end()) return told;
  const auto at = rivals_.find(found->second);
  key_of_.erase(found);
  Rivals& rivals = at->second;
  rivals.objects.erase(uid);
  if (rivals.objects.empty()) {
    rivals_.erase(at);
  } else if (rivals.told == uid) {
    const PodGroup& next = Oldest(rivals);
    rivals.told = next.uid;
    told.facts.emplace_back(next);
  }
  return told;
}

const PodGroup& PodGroupChoice::Oldest(const Rivals& rivals) {
  const auto oldest = std::min_element(
      rivals.objects.begin(), rivals.objects.end(), [](const auto& a, const auto& b) {
        return std::tie(a.second.created, a.first) < std::tie(b.second.created, b.first);
      });
  return oldest->second;
}

}  // namespace muster::kube
