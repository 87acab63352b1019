#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "engine/core.hpp"
#include "engine/minimum.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::Time;

namespace {

// The engine acts on a deadline when it is told that the time has come; outcomes then take their
// own time.
constexpr cluster::Duration kSlack = cluster::Seconds(30);

}  // namespace

void Scheduler::Core::AuditNodes(std::vector<std::string>& broken) const {
  for (const cluster::Node* node : state_.Nodes()) {
    const cluster::NodeIndex index = state_.IndexOf(node->name);
    if (state_.Overcommitted(index)) continue;
    std::map<cluster::GpuIndex, cluster::DeviceAmount> taken;
    cluster::Resources held;
    for (const cluster::PodUid& uid : state_.HoldersOn(index)) {
      const cluster::Allocation& allocation = *state_.AllocationOf(uid);
      for (const cluster::GpuShare& share : allocation.placement.gpus)
        taken[share.index] += share.taken;
      held += allocation.placement.requests;
    }
    for (const auto& [gpu, given] : taken) {
      if (!cluster::DeviceAmount::All().Holds(given)) {
        broken.push_back("GPU " + std::to_string(gpu.value) + " of node " + node->name +
                         " is given out " + std::to_string(given.most().value()) + " milli times");
      }
    }
    if (!node->allocatable.Fits(held))
      broken.push_back("node " + node->name + " has more given out than it has");
  }
}

void Scheduler::Core::AuditMember(const Gang& gang, const Member& member,
                                  std::vector<std::string>& broken) const {
  const std::string who = "pod " + member.key.ToString();
  const Pod* pod = state_.FindPod(member.uid);
  if (pod == nullptr) {
    broken.push_back(who + " is a member but not known");
    return;
  }
  if (member.pod != pod) broken.push_back(who + " is remembered by another record than its own");
  const cluster::Allocation* held = state_.AllocationOf(member.uid);
  const bool reserved = held != nullptr && held->holding == cluster::Holding::kReserved;
  const bool settled = !work_.Touched(gang.id);
  // Its node may go while a binding is under way: then the plan stays, as what the binding is asked
  // for.
  const bool rootless = member.plan && !reserved && member.may_be_bound();
  const bool kept = gang.victims ? state_.Earmarked(member.uid) : reserved;
  if (settled && kept != member.plan.has_value() && !rootless) {
    broken.push_back(who + (kept ? " has a reservation or earmark without a plan"
                                 : " has a plan without a reservation or earmark"));
  }
  if (settled && state_.Earmarked(member.uid) && !gang.victims)
    broken.push_back(who + " has an earmark and nobody makes way for it");
  if (settled && reserved && member.plan && held->placement != *member.plan &&
      !member.may_be_bound())
    broken.push_back(who + " reserves other than planned");
  if (settled && member.plan && (pod->bound() || pod->terminal()))
    broken.push_back(who + " has ended or is bound and planned");
  if (!member.held.empty() && !member.plan && !pod->bound())
    broken.push_back(who + " has a held Bind call and no plan");
}

void Scheduler::Core::AuditGang(const Gang& gang, Time now,
                                std::vector<std::string>& broken) const {
  const std::string who = "gang " + gang.id.key.ToString();
  for (const auto& [uid, member] : gang.members) AuditMember(gang, member, broken);
  if (work_.Touched(gang.id)) return;
  const Tally& tally = gang.tally;
  // Their outcome decides whether the gang becomes partially bound or gives back what it holds.
  const bool binding = std::any_of(gang.members.begin(), gang.members.end(),
                                   [](const auto& m) { return m.second.may_be_bound(); });
  if (tally.ours == 0 && tally.planned > 0 && Need(gang, Counting::kPlanned) > 0 && !binding) {
    broken.push_back(who + " holds part of what it needs and waits");
  }
  const bool holds_nothing =
      gang.state == GangState::kForming || gang.state == GangState::kQueued ||
      gang.state == GangState::kInvalid || gang.state == GangState::kForbidden ||
      gang.state == GangState::kUnsatisfiable;
  if (holds_nothing && tally.planned > 0 && !binding) {
    broken.push_back(who + " is " + ToString(gang.state) + " and holds a reservation");
  }
  const bool overdue =
      gang.partial_since && *gang.partial_since + options_.partial_timeout + kSlack < now;
  if (overdue && !gang.repairing && options_.partial_gang == PartialGang::kEvict) {
    broken.push_back(who + " is partially bound for too long and nothing is done about it");
  }
  if (gang.pending && !queue_.Contains(gang)) broken.push_back(who + " is lost for planning");
}

// Victims are of lower priority than every member, and make way for one gang that waits for them.
void Scheduler::Core::AuditVictims(const Gang& gang, std::vector<std::string>& broken) const {
  const std::string who = "gang " + gang.id.key.ToString();
  if (gang.victims && gang.tally.planned == 0)
    broken.push_back(who + " has victims and nothing that they make way for");
  int64_t priority = INT32_MAX;
  for (const auto& [uid, member] : gang.members) {
    if (member.plan) priority = std::min<int64_t>(priority, member.pod->spec->priority);
    if (!member.makes_way_for) continue;
    const auto other = gangs_.find(*member.makes_way_for);
    const bool waited_for =
        other != gangs_.end() && other->second.victims && other->second.victims->pods.contains(uid);
    if (!waited_for) broken.push_back("pod " + member.key.ToString() + " makes way for nobody");
  }
  if (!gang.victims) return;
  for (const cluster::PodUid& uid : gang.victims->pods) {
    const Pod* pod = state_.FindPod(uid);
    if (pod != nullptr && pod->spec->priority >= priority)
      broken.push_back(who + " preempts pod " + pod->key.ToString() + " of no lower priority");
  }
}

std::vector<std::string> Scheduler::Core::Audit(Time now) const {
  std::vector<std::string> broken;
  AuditNodes(broken);
  for (std::string& wrong : health_.Audit()) broken.push_back(std::move(wrong));
  int64_t plans = 0;
  std::vector<const Member*> all;
  for (const auto& [id, gang] : gangs_) {
    AuditGang(gang, now, broken);
    if (work_.settled()) AuditVictims(gang, broken);
    for (const auto& [uid, member] : gang.members) {
      const bool rootless = member.may_be_bound() && state_.AllocationOf(uid) == nullptr;
      plans += member.plan && !rootless && !gang.victims ? 1 : 0;
      all.push_back(&member);
    }
  }
  if (all.size() != gang_of_.size()) broken.push_back("members and their index differ");
  if (work_.settled() && plans != static_cast<int64_t>(state_.reservation_count())) {
    broken.push_back(std::to_string(state_.reservation_count()) + " reservations for " +
                     std::to_string(plans) + " planned pods");
  }
  for (const auto& [uid, entry] : unfenced_.pods()) {
    const Pod* pod = state_.FindPod(uid);
    if (pod == nullptr || pod->bound() || pod->terminal()) {
      broken.push_back("pod UID " + uid.text() + " is held back for ever");
    }
  }
  if (seen_in_filter_.size() > state_.pod_count())
    broken.push_back("pods from Filter calls are remembered for ever");
  for (const auto& [key, pods] : outsiders_) {
    for (const cluster::PodUid& uid : pods) {
      if (state_.FindPod(uid) == nullptr || gang_of_.contains(uid))
        broken.push_back("a pod of PodGroup " + key.ToString() +
                         " is a member, or gone, and apart");
    }
  }
  for (std::string& wrong : writes_.Audit(all)) broken.push_back(std::move(wrong));
  return broken;
}

std::string Scheduler::Core::Dump() const {
  std::ostringstream out;
  out << state_.Dump();
  if (!silent_.empty()) out << "silent " << silent_ << '\n';
  for (const auto& [uid, held] : unfenced_.pods()) {
    out << "unfenced " << uid.text() << " on " << held.node << ": " << held.why << '\n';
  }
  for (const auto& [id, gang] : gangs_) {
    out << (id.solo ? "pod " : "gang ") << id.key.ToString() << ' ' << ToString(gang.state) << ' '
        << ToString(gang.reason.code) << " min=" << gang.min_member
        << " wants=" << gang.minimum.members << " bound=" << gang.tally.bound
        << " succeeded=" << gang.tally.succeeded << " failed=" << gang.tally.failed
        << " pending=" << gang.tally.pending << " planned=" << gang.tally.planned
        << " barrier=" << gang.barrier_open << " attempts=" << gang.attempts
        << " victims=" << (gang.victims ? gang.victims->pods.size() : 0) << '\n';
    for (const auto& [uid, member] : gang.members) {
      out << "  member " << member.key.ToString() << ' ' << uid.text()
          << " plan=" << member.planned_node << " held=" << member.held.size()
          << " doing=" << static_cast<int>(member.doing) << '\n';
    }
  }
  return out.str();
}

}  // namespace muster::engine
