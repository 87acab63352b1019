#include "engine/judging/read_terms.hpp"

#include <algorithm>

#include "engine/judging/request.hpp"
#include "engine/standing/standing_state.hpp"
#include "topology/fabric/fabric_options.hpp"

namespace muster::engine {

namespace {

struct Found {
  const cluster::PriorityClass* known = nullptr;
  std::string unknown;  // for people; empty: none
};

Found Find(const StandingState& state, const std::string& name, const std::string& said_by) {
  Found found;
  found.known = state.cluster.FindPriorityClass(name);
  if (found.known == nullptr)
    found.unknown = said_by + ": there is no PriorityClass \"" + name + "\"";
  return found;
}

// By KAI's label.
void ReadLabels(const StandingState& state, const Gang& gang, GroupTerms& terms) {
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

constexpr size_t kMostWords = 16;  // of pods that all say something else

// What its pods say to other systems, each once.
void AddWords(const Gang& gang, std::vector<std::string>& told) {
  const cluster::GangWords* last = nullptr;  // most members say the same
  for (const auto& [uid, member] : gang.members) {
    const cluster::GangWords* words = member.pod->gang_words.get();
    if (words == nullptr || words == last || words->unheeded.empty()) continue;
    if (last != nullptr && last->unheeded == words->unheeded) continue;
    last = words;
    if (std::find(told.begin(), told.end(), words->unheeded) != told.end()) continue;
    if (told.size() >= kMostWords) return;
    told.push_back(words->unheeded);
  }
}

// The levels that it names and that the policy does not know. A wish that Muster makes of a
// ComputeDomain is nobody's word.
void AddLevels(const StandingState& state, const Gang& gang, std::vector<std::string>& told) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  if (gang.members.empty() && group == nullptr) return;
  const cluster::TopologyTerms& terms =
      gang.members.empty() ? group->topology : TopologyOf(state, gang);
  if (terms.said_by.starts_with("muster.dev/")) return;
  for (std::string& one : topology::NotHeeded(state.options.placement.fabric, terms))
    told.push_back(std::move(one));
}

}  // namespace

GroupTerms TermsOfGroup(const StandingState& state, const Gang& gang) {
  GroupTerms terms;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  if (group == nullptr || group->priority.none()) {
    ReadLabels(state, gang, terms);
  } else {
    const cluster::GroupPriority& said = group->priority;
    terms.priority = said.value;
    terms.preempts = said.preempts;
    if (!said.value && !said.class_name.empty()) {
      Found found = Find(state, said.class_name,
                         group->by_owner ? "its owner's class" : "spec.priorityClassName");
      if (found.known != nullptr) {
        terms.priority = found.known->value;
        if (!said.preempts && said.policy_of_class) terms.preempts = found.known->preempts;
      } else {
        terms.not_honoured.push_back(std::move(found.unknown));
      }
    }
  }
  std::vector<std::string>& told = terms.not_honoured;
  if (group != nullptr) {
    terms.whole = group->disrupted_whole;
    told.insert(told.end(), group->not_honoured.begin(), group->not_honoured.end());
    if (!group->unheeded.empty()) told.push_back(group->unheeded);
  }
  AddLevels(state, gang, told);
  AddWords(gang, told);
  return terms;
}

}  // namespace muster::engine
