// WriteTracker: what Muster has asked the API server to do, and which Bind calls it owes an answer
// (internal to engine/). Owned and guarded by Scheduler.
//
// 1. For one pod one action is under way at most; Member::doing and Member::action say which one.
// 2. An action has an id of its own and one outcome. The outcome of an action whose pod has left is
//    nobody's.
// 3. A held Bind call gets exactly one answer.
// 4. Actions leave in the order in which they were asked for.
//
// A restart forgets all of it: what was under way shows in the API objects, and kube-scheduler asks
// again when a held call breaks off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/actions.hpp"
#include "engine/gang.hpp"

namespace muster::engine {

class WriteTracker {
 public:
  // The member's next action, which Ask takes. Nothing is under way for it.
  void Begin(Member& member, Doing doing);
  // Whose outcome it is, for the caller to clear Member::doing; nothing: nobody waits for it.
  std::optional<cluster::PodUid> End(ActionId id);
  // For an action whose outcome does not matter.
  ActionId NextId() { return ActionId{next_++}; }
  void Ask(Action action) { actions_.push_back(std::move(action)); }

  // A Bind call arrived: it is answered when the gang's fate is known, or at `answer_by`.
  void Hold(Member& member, uint64_t ticket, cluster::Time answer_by);
  // Answers all that are held for the member. Empty: the pod is bound.
  void Answer(Member& member, const std::string& error);

  // The member's pod leaves its gang.
  void Forget(Member& member, const std::string& why);

  std::vector<Action> Take() { return std::exchange(actions_, {}); }
  bool has_actions() const { return !actions_.empty(); }
  int64_t held_binds() const { return held_; }

  // What of the contract does not hold for these members, which must be all there are.
  std::vector<std::string> Audit(const std::vector<const Member*>& members) const;

 private:
  std::unordered_map<uint64_t, cluster::PodUid> under_way_;  // by action id
  uint64_t next_ = 1;
  int64_t held_ = 0;
  std::vector<Action> actions_;
};

}  // namespace muster::engine
