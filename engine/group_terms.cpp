#include "engine/group_terms.hpp"

#include <algorithm>

#include "engine/engine_state.hpp"

namespace muster::engine {

namespace {

struct Found {
  const cluster::PriorityClass* known = nullptr;
  std::string unknown;  // for people; empty: none
};

Found Find(const EngineState& state, const std::string& name, const std::string& said_by) {
  Found found;
  found.known = state.cluster.FindPriorityClass(name);
  if (found.known == nullptr)
    found.unknown = said_by + ": there is no PriorityClass \"" + name + "\"";
  return found;
}

// By KAI's label.
void ReadLabels(const EngineState& state, const Gang& gang, GroupTerms& terms) {
  const std::string* last = nullptr;  // most members say the same
  for (const auto& [uid, member] : gang.members) {
    const cluster::Pod& pod = *member.pod;
    const std::string& name = pod.spec->gang_class;
    if (name.empty() || pod.terminal() || (last != nullptr && *last == name)) continue;
    last = &name;
    Found found = Find(state, name, "label priorityClassName of pod " + pod.key.name);
    if (found.known != nullptr) {
      terms.priority = std::min(terms.priority.value_or(INT32_MAX), found.known->value);
    } else if (terms.not_honoured.empty()) {
      terms.not_honoured.push_back(std::move(found.unknown));
    }
  }
}

}  // namespace

GroupTerms TermsOfGroup(const EngineState& state, const Gang& gang) {
  GroupTerms terms;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  if (group == nullptr || group->priority.none()) {
    ReadLabels(state, gang, terms);
  } else {
    const cluster::GroupPriority& said = group->priority;
    terms.priority = said.value;
    terms.preempts = said.preempts;
    if (!said.value && !said.class_name.empty()) {
      Found found = Find(state, said.class_name, "spec.priorityClassName");
      if (found.known != nullptr) {
        terms.priority = found.known->value;
        if (!said.preempts && said.policy_of_class) terms.preempts = found.known->preempts;
      } else {
        terms.not_honoured.push_back(std::move(found.unknown));
      }
    }
  }
  if (group == nullptr) return terms;
  terms.whole = group->disrupted_whole;
  terms.not_honoured.insert(terms.not_honoured.end(), group->not_honoured.begin(),
                            group->not_honoured.end());
  return terms;
}

}  // namespace muster::engine
