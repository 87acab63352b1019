// Evidence: what kube-scheduler says of pods that it finds no node for, what happens after that and
// could help, and what follows for their gangs (internal to engine/). The state is Refusals.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/records/pod.hpp"
#include "engine/gangs/gang.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

struct StandingState;

// What a pod said before a fact about it.
struct SaidBefore {
  bool known = false;  // it was known under that UID
  std::string nominated;
  std::shared_ptr<const std::string> words;  // see WordsOn
};
SaidBefore SaidBy(const StandingState& state, const cluster::Pod& pod);
// The condition of a member says that kube-scheduler has found no node for it. If it has a plan,
// that is a refusal where the words are new, or the nomination was taken away: a sentence is
// written only once. If an earlier process handed it over, it was one.
void HearWords(StandingState& state, const SaidBefore& before, const cluster::Pod& pod,
               cluster::Time now);

// The pod was woken: if it had been refused before, silence is an answer too.
void ExpectAnswer(StandingState& state, const Gang& gang, Member& member, cluster::Time now);

// Something that kube-scheduler looks at has changed, other than a node: a pod left, a volume, a
// quota. Gangs that it refused may be taken now.
void NoteChange(StandingState& state);
// A node came, or is another one now.
void NoteNode(StandingState& state, const std::string& node);

// The gang's pause goes on, or ends. It is being judged.
void FollowRefusal(StandingState& state, Gang& gang, cluster::Time now);
// No room was found for a gang that kube-scheduler refused. It waits for evidence again, as long as
// it may not preempt; else it is tried once more on every node. False: it just waits.
bool WaitForEvidence(StandingState& state, Gang& gang, cluster::Time now);

}  // namespace muster::engine
