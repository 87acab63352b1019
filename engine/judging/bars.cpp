#include "engine/judging/bars.hpp"

#include <algorithm>
#include <vector>

#include "engine/standing/known_state.hpp"

namespace muster::engine {

Reason NamespaceBar(const KnownState& state, const std::string& ns) {
  const NamespaceRules& rules = state.options.namespaces;
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), ns) != names.end();
  };
  const bool listed = rules.allow.empty() || has(rules.allow);
  if (has(rules.deny) || !listed) return Because(ReasonCode::kNamespaceForbidden, 0, 0, ns);
  const cluster::Namespace* known = state.cluster.FindNamespace(ns);
  if (known != nullptr && known->deleting) return Because(ReasonCode::kNamespaceEnding, 0, 0, ns);
  return {};
}

Reason FenceBar(const KnownState& state, const Gang& gang) {
  if (state.unfenced.none()) return {};
  for (const auto& [uid, member] : gang.members) {
    const std::string* why = state.unfenced.Why(uid);
    if (why == nullptr) continue;
    return Because(ReasonCode::kPodNotFenced, 0, 0, "pod " + member.key.name + ": " + *why);
  }
  return {};
}

}  // namespace muster::engine
