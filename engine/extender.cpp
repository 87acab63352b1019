#include <algorithm>
#include <utility>

#include "cluster/transaction.hpp"
#include "engine/core.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::Time;

namespace {

// A pod that only a Filter call has shown is forgotten when the watch does not show it in time.
constexpr cluster::Duration kConfirmWithin = cluster::Seconds(600);

// kube-scheduler writes refusals into the pod's condition and events, so they carry no numbers: a
// text that stays the same costs no write. The numbers are in the explain API.
std::string RefusalOf(const Gang& gang) {
  if (gang.state == GangState::kRunning || gang.state == GangState::kFinished) {
    return "muster: waiting for room for another elastic member";
  }
  Reason plain;
  plain.code = gang.reason.code;
  const std::string why = Describe(plain);
  return "muster: gang is " + std::string(ToString(gang.state)) + (why.empty() ? "" : ": " + why);
}

bool Contains(const std::vector<std::string>& nodes, const std::string& node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

FilterAnswer Scheduler::Core::Filter(const NodesQuestion& question, Time now) {
  FilterAnswer answer;
  const cluster::PodUid& uid = question.pod.uid;
  PlacedMember at = Find(uid);
  if (at.member == nullptr) {
    if (state_.FindPod(uid) == nullptr && state_.FindPod(question.pod.key) != nullptr) {
      // Only the watch can say that the pod we know is gone.
      answer.error = "muster: pod " + question.pod.key.ToString() +
                     " is known under another UID than " + uid.text() + ", try again";
      return answer;
    }
    LearnFromFilter(question.pod, now);
    at = Find(uid);
  }
  if (at.member == nullptr) {
    answer.refusal = "muster: the pod does not exist any more";
    return answer;
  }
  const Pod& pod = *state_.FindPod(uid);
  if (pod.bound()) {
    if (Contains(question.nodes, pod.node_name)) answer.node = pod.node_name;
    answer.refusal = "muster: the pod is bound to another node";
    return answer;
  }
  Member& member = *at.member;
  last_call_ = now;
  if (!Claimed(pod)) {  // kube-scheduler asks about it, so it is Muster's to place
    seen_in_filter_.insert(uid);
    Touch(*at.gang);
  }
  if (at.gang->victims) {  // it has a plan, but no room yet
    member.refused = true;
    answer.refusal = RefusalOf(*at.gang);
    return answer;
  }
  if (member.plan && !Contains(question.nodes, member.planned_node) && !member.may_be_bound()) {
    // kube-scheduler tries a nominated node first, and alone. So a list without it means that the
    // node did not pass, if the nomination had arrived by then; else the list may be a sample, or
    // about an older nomination.
    const bool turned_down = question.pod.nominated_node == member.planned_node;
    if (turned_down && !question.nodes.empty() && silent_.empty())
      Replan(*at.gang, member, question.nodes, now);
  }
  if (member.plan) {
    if (Contains(question.nodes, member.planned_node)) {
      answer.node = member.planned_node;
    } else {
      member.refused = true;
    }
    answer.refusal = "muster: the gang is planned on other nodes";
    return answer;
  }
  member.refused = true;
  answer.refusal = RefusalOf(*at.gang);
  return answer;
}

// A pod of another schedulerName, or one that kube-scheduler heard of before Muster did. A question
// never changes what is known of a pod.
void Scheduler::Core::LearnFromFilter(const Pod& pod, Time now) {
  if (state_.FindPod(pod.uid) == nullptr) {
    for (auto next = unconfirmed_.begin(); next != unconfirmed_.end();) {
      const auto [uid, since] = *next++;
      if (since + kConfirmWithin <= now) RemovePod(uid, false);
    }
    ApplyPod(pod);
    // Removed already: the question is older than what we know.
    if (state_.FindPod(pod.uid) == nullptr) return;
    unconfirmed_.emplace(pod.uid, now);
  }
  seen_in_filter_.insert(pod.uid);
  Join(*state_.FindPod(pod.uid));
}

PrioritizeAnswer Scheduler::Core::Prioritize(const NodesQuestion& question) const {
  const auto found = gang_of_.find(question.pod.uid);
  if (found == gang_of_.end()) return {};
  const Member& member = found->second->members.at(question.pod.uid);
  const Pod& pod = *state_.FindPod(question.pod.uid);
  return {pod.bound() ? pod.node_name : member.planned_node};
}

// kube-scheduler's own checks turned the planned node down. First only this pod moves; then all
// members that no Bind call has come for; if neither works, the gang starts anew without that node
// for that pod.
bool Scheduler::Core::Replan(Gang& gang, Member& member, const std::vector<std::string>& nodes,
                             Time now) {
  member.excluded[member.planned_node] = now + options_.backoff_max;
  // A fact may have broken reservations since the gang was judged; only sound ones can be moved.
  if (state_.Sound(member.uid) && TryMove(gang, {&member}, member, nodes, now)) return true;
  std::vector<Member*> moving;
  for (auto& [uid, other] : gang.members) {
    if (other.plan && other.held.empty() && !other.may_be_bound()) moving.push_back(&other);
  }
  const bool all_sound = std::all_of(moving.begin(), moving.end(),
                                     [&](const Member* one) { return state_.Sound(one->uid); });
  if (moving.size() > 1 && all_sound && TryMove(gang, moving, member, nodes, now)) return true;
  if (gang.barrier_open || gang.tally.ours > 0) {
    DropMember(gang, member, "muster: kube-scheduler turned the planned node down");
  } else {
    Drop(gang, "muster: kube-scheduler turned a planned node down, the gang is planned anew", now);
  }
  Reason reason;
  reason.code = ReasonCode::kPlanBroken;
  SetState(gang, gang.tally.ours > 0 ? GangState::kDegraded : GangState::kQueued,
           std::move(reason));
  Touch(gang);
  return false;
}

bool Scheduler::Core::TryMove(Gang& gang, const std::vector<Member*>& moving,
                              const Member& restricted, const std::vector<std::string>& nodes,
                              Time now) {
  const std::shared_ptr<const cluster::Snapshot> snapshot = state_.TakeSnapshot();
  cluster::Transaction tx(snapshot);
  std::vector<policy::Demand> demands;
  for (const Member* member : moving) {
    tx.Evict(*member->plan);
    policy::Demand demand = DemandOf(*member, now);
    demand.preferred = member == &restricted ? cluster::NodeIndex{} : member->plan->node;
    if (member == &restricted) {
      std::vector<bool> allowed(snapshot->size(), false);
      for (const std::string& node : nodes) {
        const cluster::NodeIndex index = state_.IndexOf(node);
        const bool barred = member->excluded.contains(node) || unfenced_.Withholds(node);
        if (index.valid() && !barred) allowed[index.value] = true;
      }
      demand.excluded.clear();
      for (uint32_t i = 0; i < snapshot->size(); ++i) {
        if (!allowed[i]) demand.excluded.push_back(cluster::NodeIndex{i});
      }
    }
    demands.push_back(std::move(demand));
  }
  const policy::PlaceAnswer answer =
      replanner_.PlaceGang(tx, demands, policy::NodeFilter::kSchedulable);
  if (!answer.placed) return false;
  if (!state_.Move(answer.placements).ok()) return false;
  for (const cluster::Placement& placement : answer.placements) {
    Member& member = gang.members.at(placement.pod);
    if (member.plan == placement) continue;
    SetPlan(member, placement, member.required);
  }
  Touch(gang);
  return true;
}

Scheduler::BindReceipt Scheduler::Core::Bind(const BindCall& call, uint64_t ticket, Time now) {
  const PlacedMember at = Find(call.uid);
  const Pod* pod = state_.FindPod(call.uid);
  const auto refuse = [&](const std::string& why) {
    return BindReceipt{false, "muster: pod " + call.pod.ToString() + " " + why};
  };
  if (pod == nullptr || at.member == nullptr)
    return refuse("is not known under UID " + call.uid.text());
  if (pod->key != call.pod) return refuse("has another name than pod UID " + call.uid.text());
  if (pod->bound()) {
    if (pod->node_name == call.node) return {};
    return refuse("is bound to node " + pod->node_name + " already");
  }
  if (pod->terminal() || pod->deleting) return refuse("has ended or is being deleted");
  Member& member = *at.member;
  if (!member.plan || at.gang->victims) return refuse("has no reservation: " + RefusalOf(*at.gang));
  if (member.planned_node != call.node) return refuse("is planned on node " + member.planned_node);
  last_call_ = now;
  writes_.Hold(member, ticket, now + options_.bind_hold_timeout);
  member.bind_seen = true;
  Touch(*at.gang);
  return {true, {}};
}

}  // namespace muster::engine
