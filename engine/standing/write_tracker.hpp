// WriteTracker: what Muster has asked the API server to do, and which Bind calls it owes an answer
// (internal to engine/). Owned and guarded by Scheduler.
//
// 1. For one pod one action is under way at most (MemberWrites::doing), the next one after its
//    outcome.
// 2. An action has an id of its own and one outcome. The outcome of an action whose pod has left is
//    nobody's.
// 3. A held Bind call gets exactly one answer.
// 4. Actions leave in the order in which they were asked for.
// 5. The outcome of a binding stays unknown (outcome_unknown) until the pod is bound, ends or is
//    refused: until then its reservation stays (Member::may_be_bound).
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

#include "engine/contract/actions.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

class WriteTracker {
 public:
  // The member's next action, which Ask takes. Nothing is under way for it.
  ActionId Begin(Member& member, WriteKind doing);
  // The same, of a Nominate.
  ActionId BeginNomination(Member& member, const std::string& node, bool hands_over);
  // And of a BindPod.
  ActionId BeginBinding(Member& member, const std::string& gang);
  // And of a RecordPod.
  ActionId BeginRecord(Member& member, const cluster::GangRecord& record);
  // The gate goes with an affinity to that node.
  void Pin(Member& member, const std::string& node) { member.writes.value_.pinned_node = node; }
  // Whose outcome it is, which Finish takes; nothing: nobody waits for it.
  std::optional<cluster::PodUid> End(ActionId id);
  // What was under way, with this outcome.
  WriteKind Finish(Member& member, OutcomeKind outcome);
  // The next action comes at that time at the earliest.
  void Postpone(Member& member, cluster::Time until) { member.writes.value_.not_before = until; }
  // Refusals in a row, with this one.
  int64_t CountRefusal(Member& member) { return ++member.writes.value_.refusals; }
  // kube-scheduler was told "no": it is woken when it should ask again.
  void MarkNeedsWake(Member& member) { member.writes.value_.needs_wake = true; }
  // What is known of its binding now says that none is under way.
  void ConfirmOutcome(Member& member) { member.writes.value_.outcome_unknown = false; }
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
