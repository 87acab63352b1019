// Evidence: what kube-scheduler says of pods that it finds no node for, what happens after that and
// could help, and what follows for their gangs (internal to engine/). The state is Refusals.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/records/pod.hpp"
#include "engine/gang.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

struct EngineState;

// What a pod said before a fact about it.
struct SaidBefore {
  bool known = false;  // it was known under that UID
  std::string nominated;
  std::shared_ptr<const std::string> words;  // see WordsOn
};
SaidBefore SaidBy(const EngineState& state, const cluster::Pod& pod);
// The condition of a member says that kube-scheduler has found no node for it. If it has a plan,
// that is a refusal where the words are new, or the nomination was taken away: a sentence is
// written only once. If an earlier process handed it over, it was one.
void HearWords(EngineState& state, const SaidBefore& before, const cluster::Pod& pod,
               cluster::Time now);

// The pod was woken: if it had been refused before, silence is an answer too.
void ExpectAnswer(EngineState& state, const Gang& gang, Member& member, cluster::Time now);

// Something that kube-scheduler looks at has changed, other than a node: a pod left, a volume, a
// quota. Gangs that it refused may be taken now.
void NoteChange(EngineState& state);
// A node came, or is another one now.
void NoteNode(EngineState& state, const std::string& node);

// The gang's pause goes on, or ends. It is being judged.
void FollowRefusal(EngineState& state, Gang& gang, cluster::Time now);
// No room was found for a gang that kube-scheduler refused. It waits for evidence again, as long as
// it may not preempt; else it is tried once more on every node. False: it just waits.
bool WaitForEvidence(EngineState& state, Gang& gang, cluster::Time now);

// The nodes that pods of a gang are kept off.
class NodesRefused {
 public:
  // Both must outlive it.
  NodesRefused(const EngineState& state, const Gang& gang);
  void KeepOff(policy::Demand& demand);

 private:
  const EngineState& state_;
  const struct Refusal* const refusal_;
  std::map<const cluster::PodSpec*, std::vector<cluster::NodeIndex>> nodes_;
};

}  // namespace muster::engine
