#include "engine/cycle/verbs.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/holdings/transaction.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/booking_search.hpp"
#include "engine/cycle/commit.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/intake.hpp"
#include "engine/cycle/membership_moves.hpp"
#include "engine/cycle/setback.hpp"
#include "engine/cycle/settle.hpp"
#include "engine/judging/elastic.hpp"
#include "engine/judging/evidence.hpp"
#include "engine/judging/nodes_refused.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"
#include "engine/judging/start_turns.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::Time;

namespace {

constexpr const char* kRejected = "muster: kube-scheduler rejected the planned node";
// A pod that only a Filter call has shown is forgotten when the watch does not show it in time.
constexpr cluster::Duration kConfirmWithin = cluster::Seconds(600);

// kube-scheduler writes refusals into the pod's condition and events, so they carry no numbers: a
// text that stays the same costs no write. The numbers are in the explain API.
std::string RefusalOf(const EngineState& state, const Gang& gang) {
  if (gang.state == GangState::kRunning || gang.state == GangState::kFinished) {
    const Remainder remainder = RemainderOf(state, gang);
    if (!remainder.none() && remainder.all)
      return "muster: waiting for more members, which make up a whole segment together";
    return "muster: waiting for room for another elastic member";
  }
  Reason plain;
  plain.code = gang.reason.code;
  if (gang.state == GangState::kInvalid) plain.detail = gang.reason.detail;  // what to mend
  const std::string why = Describe(plain);
  return "muster: gang is " + std::string(ToString(gang.state)) + (why.empty() ? "" : ": " + why);
}

bool Contains(const std::vector<std::string>& nodes, const std::string& node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// A pod of another schedulerName, or one that kube-scheduler heard of before Muster did. A question
// never changes what is known of a pod.
void LearnFromFilter(EngineState& state, const Pod& pod, Time now) {
  if (state.cluster.FindPod(pod.uid) == nullptr) {
    for (const cluster::PodUid& uid : state.members.Unconfirmed(kConfirmWithin, now))
      RemovePod(state, uid, false, now);
    ApplyPod(state, pod, now);
    // Removed already: the question is older than what we know.
    if (state.cluster.FindPod(pod.uid) == nullptr) return;
    state.members.AwaitConfirmation(pod.uid, now);
  }
  state.members.Claim(pod.uid);
  Join(state, *state.cluster.FindPod(pod.uid));
  Serve(state, pod.spec->scheduler_name);
}

// Where the pod may move: to the nodes asked about that take it.
std::vector<cluster::NodeIndex> AllBut(const EngineState& state, const Member& member,
                                       const std::vector<std::string>& nodes, size_t size) {
  std::vector<bool> allowed(size, false);
  for (const std::string& node : nodes) {
    const cluster::NodeIndex index = state.cluster.IndexOf(node);
    const bool barred = member.plan->excluded.contains(node) || state.unfenced.Withholds(node);
    if (index.valid() && !barred) allowed[index.value] = true;
  }
  std::vector<cluster::NodeIndex> excluded;
  for (uint32_t i = 0; i < size; ++i) {
    if (!allowed[i]) excluded.push_back(cluster::NodeIndex{i});
  }
  return excluded;
}

// The question that turned a planned node down, and the member that it is about.
struct TurnedDown {
  Gang& gang;
  Member& member;
  const std::vector<std::string>& nodes;
};

bool TryMove(EngineState& state, policy::Placer& placer, const std::vector<Member*>& moving,
             const TurnedDown& question, Time now) {
  LookAtBookings(state, now);
  const std::shared_ptr<const cluster::Snapshot> snapshot =
      Without(state, KeptOff(state, question.gang, now));
  cluster::Transaction tx(snapshot);
  policy::GangTerms terms = TermsOf(state, question.gang, moving);
  if (!terms.replaces) terms.kept = placer.KeptOf(*snapshot, policy::NodeFilter::kSchedulable);
  terms.kept = cluster::Together(terms.kept, ShapedFor(state, question.gang).shut);
  NodesRefused refused(state, question.gang);
  std::vector<policy::Demand> demands;
  for (const Member* member : moving) {
    tx.Evict(*member->plan->placement, member->pod->queue);
    policy::Demand demand = DemandOf(state, terms, *member, now);
    refused.KeepOff(demand);
    demand.preferred = member->plan->placement->node;
    if (member == &question.member) {
      demand.preferred = {};
      demand.excluded = AllBut(state, *member, question.nodes, snapshot->size());
    }
    demands.push_back(std::move(demand));
  }
  const policy::PlaceAnswer answer =
      placer.PlaceGang(tx, demands, policy::NodeFilter::kSchedulable, terms);
  if (!answer.placed) return false;
  state.queue_book.Follow(state.cluster);
  cluster::Usage more = UsageOf(state, answer.placements);
  for (const Member* member : moving) more -= UsageOf(state, {*member->plan->placement});
  if (OverQueue(state, question.gang, more).code != ReasonCode::kNone) return false;
  if (!state.cluster.Move(answer.placements).ok()) return false;
  for (const cluster::Placement& placement : answer.placements) {
    Member& member = question.gang.members.at(placement.pod);
    if (member.plan->placement == placement) continue;
    state.writes.Answer(member, kRejected);
    SetPlan(state, member, placement, member.plan->required);
  }
  state.work.Touch(question.gang);
  return true;
}

// The plan is given up, and the member is to have no node but those that kube-scheduler named.
void StartAgain(EngineState& state, const TurnedDown& question, Time now) {
  auto& [gang, member, nodes] = question;
  const std::set<std::string> named(nodes.begin(), nodes.end());
  for (const cluster::Node* node : state.cluster.Nodes()) {
    if (!named.contains(node->name))
      state.reservations.Exclude(member, node->name, now + state.options.backoff_max);
  }
  if (gang.plan->barrier_open || gang.tally.bound_of_muster > 0) {
    state.reservations.GiveBackMember(member, kRejected);
  } else {
    Drop(state, gang, "muster: kube-scheduler rejected a planned node, the gang is planned again",
         now);
  }
  SetState(gang, gang.tally.bound_of_muster > 0 ? GangState::kDegraded : GangState::kQueued,
           Because(ReasonCode::kPlanBroken));
  state.work.Touch(gang);
}

// kube-scheduler's own checks rejected the planned node. First only this pod moves; then all
// members that no Bind call is held for; then those too, and the calls are answered; if nothing
// works, the gang starts again. A call that is held for the pod itself was made by a kube-scheduler
// that is gone.
void Replan(EngineState& state, policy::Placer& placer, const TurnedDown& question, Time now) {
  auto& [gang, member, nodes] = question;
  state.writes.Answer(member, kRejected);
  state.reservations.Allow(member, nodes);
  state.reservations.Exclude(member, member.plan->node, now + state.options.backoff_max);
  // A fact may have broken reservations since the gang was judged; only sound ones can be moved.
  if (state.cluster.Sound(member.uid) && TryMove(state, placer, {&member}, question, now)) return;
  size_t moved = 1;
  for (const bool held_too : {false, true}) {
    std::vector<Member*> moving;
    for (auto& [uid, other] : gang.members) {
      const bool held = !other.writes->held.empty();
      if (other.planned() && (held_too || !held) && !other.may_be_bound()) moving.push_back(&other);
    }
    const bool all_sound = std::all_of(moving.begin(), moving.end(), [&](const Member* one) {
      return state.cluster.Sound(one->uid);
    });
    const bool more = moving.size() > std::exchange(moved, moving.size());
    if (more && all_sound && TryMove(state, placer, moving, question, now)) return;
  }
  StartAgain(state, question, now);
}

// kube-scheduler tries a nominated node first, and alone. So a list without the planned node means
// that it did not pass, if the nomination had arrived by then; else the list may be a sample, or
// about an older nomination.
bool RejectsPlannedNode(const Member& member, const NodesQuestion& question) {
  return member.planned() && !member.may_be_bound() && !question.nodes.empty() &&
         !Contains(question.nodes, member.plan->node) &&
         question.pod.nominated_node == member.plan->node;
}

}  // namespace

FilterAnswer Filter(EngineState& state, policy::Placer& placer, const NodesQuestion& question,
                    Time now) {
  FilterAnswer answer;
  const cluster::PodUid& uid = question.pod.uid;
  PlacedMember at = state.members.Find(uid);
  if (at.member == nullptr) {
    if (state.cluster.FindPod(uid) == nullptr &&
        state.cluster.FindPod(question.pod.key) != nullptr) {
      // Only the watch can say that the pod we know is gone.
      answer.error = "muster: pod " + question.pod.key.ToString() +
                     " is known under another UID than " + uid.text() + ", try again";
      return answer;
    }
    LearnFromFilter(state, question.pod, now);
    at = state.members.Find(uid);
  }
  if (at.member == nullptr) {
    answer.refusal = "muster: the pod does not exist any more";
    return answer;
  }
  const Pod& pod = *at.member->pod;
  if (pod.bound()) {
    if (Contains(question.nodes, pod.node_name)) answer.node = pod.node_name;
    answer.refusal = "muster: the pod is bound to another node";
    return answer;
  }
  Member& member = *at.member;
  state.last_call = now;
  if (!state.members.Claimed(pod)) {  // kube-scheduler asks about it, so it is Muster's to place
    state.members.Claim(uid);
    state.work.Touch(*at.gang);
    Serve(state, pod.spec->scheduler_name);
  }
  if (state.refusals.Asked(at.gang->id, member, question.nodes)) state.work.Touch(*at.gang);
  const bool preempts = state.preemptions.VictimsOf(at.gang->id) != nullptr;
  // It may only have come too early.
  if (!preempts && state.stale_resources.empty() && RejectsPlannedNode(member, question) &&
      StartTurns(state, *at.gang, now).Has(member))
    Replan(state, placer, {*at.gang, member, question.nodes}, now);
  if (!preempts && member.planned()) {
    answer.refusal = "muster: the gang is planned on other nodes";
    if (Contains(question.nodes, member.plan->node)) {
      answer.node = member.plan->node;
      state.reservations.SetRefused(member, std::nullopt);
    }
  } else {  // it has no plan, or one without room yet
    answer.refusal = RefusalOf(state, *at.gang);
  }
  if (answer.node.empty()) state.writes.MarkNeedsWake(member);
  return answer;
}

PrioritizeAnswer Prioritize(const EngineState& state, const NodesQuestion& question) {
  const Member* member = state.members.FindMember(question.pod.uid);
  if (member == nullptr) return {};
  return {member->pod->bound() ? member->pod->node_name : member->plan->node};
}

BindReceipt Bind(EngineState& state, const BindCall& call, uint64_t ticket, Time now) {
  const PlacedMember at = state.members.Find(call.uid);
  const auto refuse = [&](const std::string& why) {
    return BindReceipt{false, "muster: pod " + call.pod.ToString() + " " + why};
  };
  if (at.member == nullptr) return refuse("is not known under UID " + call.uid.text());
  Member& member = *at.member;
  const Pod& pod = *member.pod;
  if (pod.key != call.pod) return refuse("has another name than pod UID " + call.uid.text());
  if (pod.bound()) {
    if (pod.node_name == call.node) return {};
    return refuse("is bound to node " + pod.node_name + " already");
  }
  if (pod.ending()) return refuse("has ended or is being deleted");
  if (!member.planned() || state.preemptions.VictimsOf(at.gang->id) != nullptr)
    return refuse("has no reservation: " + RefusalOf(state, *at.gang));
  if (member.plan->node != call.node) return refuse("is planned on node " + member.plan->node);
  state.last_call = now;
  state.writes.Hold(member, ticket, now + state.options.bind_hold_timeout);
  state.reservations.SeenAtBind(member);
  state.reservations.SetRefused(member, std::nullopt);
  state.work.Touch(*at.gang);
  return {true, {}};
}

}  // namespace muster::engine
