// What must hold in a World beside the invariants that its auditor checks after every event.

#include <algorithm>
#include <optional>

#include "engine/scheduler.hpp"
#include "engine/trial/what_if.hpp"
#include "property_world.hpp"
#include "sim/schedulers/scheduler_cache.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {

using cluster::Duration;
using cluster::Node;

namespace {

// Its state follows from the objects alone, not from a clock or a try.
bool Settled(const engine::GangView& gang) {
  return gang.state == engine::GangState::kForming || gang.state == engine::GangState::kRunning ||
         gang.state == engine::GangState::kFinished || gang.state == engine::GangState::kInvalid ||
         gang.state == engine::GangState::kForbidden;
}

std::string Brief(const engine::GangView& gang) {
  return std::string(ToString(gang.state)) + " bound=" + std::to_string(gang.bound) +
         " succeeded=" + std::to_string(gang.succeeded) + " failed=" + std::to_string(gang.failed) +
         " min=" + std::to_string(gang.min_member);
}

std::string Words(const cluster::Resources& room) {
  return std::to_string(room.cpu.value()) + " milli-CPU, " + std::to_string(room.memory.value()) +
         " MiB";
}

}  // namespace

// An engine that gets this one's facts has the same room, and what-if on it comes to an end.
std::string World::CheckDecidedFacts() {
  const engine::Scheduler& present = cluster_->muster()->scheduler();
  const Time now = cluster_->loop().now();
  engine::WhatIf what;
  what.known = present.DecidedFacts();
  what.options = options_.muster.engine;
  what.now = now;
  what.outlook = cluster::Seconds(7200);
  engine::Scheduler second(what.options);
  for (const engine::Fact& fact : what.known) second.Apply(fact, now);
  const auto preempting = static_cast<size_t>(engine::GangState::kPreempting);
  // What makes way is reported as gone.
  if (present.Count().gangs[preempting] == 0 && reclaimed_ < now) {
    const auto a = present.Nodes();
    const auto b = second.Nodes();
    if (a.size() != b.size()) return "the facts that the engine tells have other nodes";
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].left_out || a[i].overcommitted) continue;
      if (a[i].free != b[i].free || a[i].gpu_free != b[i].gpu_free)
        return "by the facts that the engine tells, other room is free on " + a[i].node.name;
    }
  }
  second.Advance(now);
  const std::vector<std::string> broken = second.Audit(now);
  if (!broken.empty()) return "told what this engine knows, another one is broken: " + broken[0];
  const engine::WhatIfAnswer answer = engine::TryOut(what);
  return answer.complete && answer.looked_at_all ? "" : "what-if does not come to an end";
}

// A new engine that hears of the same objects must keep the same books.
std::string World::CheckRebuild() {
  engine::Scheduler& present = cluster_->muster()->scheduler();
  const engine::Counts counts = present.Count();
  const auto preempting = static_cast<size_t>(engine::GangState::kPreempting);
  if (Delayed() || counts.reservations > 0 || counts.gangs[preempting] > 0) return "";
  const Time now = cluster_->loop().now();
  if (now <= reclaimed_) return "";  // nor for whom they make way
  engine::Scheduler rebuilt(options_.muster.engine);
  for (const engine::Fact& fact : StorageFacts()) rebuilt.Apply(fact, now);
  for (const NodePtr& node : cluster_->api().Nodes()) rebuilt.Apply(node->node, now);
  for (const PodGroupPtr& group : cluster_->api().PodGroups()) rebuilt.Apply(group->group, now);
  rebuilt.Apply(owners_->Known(), now);
  for (const PodPtr& pod : cluster_->api().Pods()) {
    if (!IsOwned(*pod)) rebuilt.Apply(pod->pod, now);
  }
  rebuilt.Apply(present.Orders(), now);
  const auto a = present.Nodes();
  const auto b = rebuilt.Nodes();
  if (a.size() != b.size()) return "rebuilt from scratch the engine knows other nodes";
  for (size_t i = 0; i < a.size(); ++i) {
    // For how long a node was left out is forgotten.
    if (a[i].left_out && !a[i].left_out->gpus.empty()) continue;
    Node known = a[i].node;
    known.left_out = false;
    const bool same = known == b[i].node && a[i].free == b[i].free &&
                      a[i].gpu_free == b[i].gpu_free && a[i].holders == b[i].holders &&
                      a[i].overcommitted == b[i].overcommitted;
    if (!same) return "rebuilt from scratch the engine has other books of " + a[i].node.name;
  }
  rebuilt.Advance(now);
  for (const engine::GangView& gang : rebuilt.Gangs()) {
    // What Muster knows of pods of other schedulerNames depends on what it was asked.
    const std::optional<engine::GangView> known = present.FindGang(gang.id.key);
    if (!known) return "rebuilt from scratch the engine knows another gang " + gang.id.key.name;
    if (known->members.size() != gang.members.size() || !Settled(*known) || !Settled(gang)) {
      continue;
    }
    if (gang.members.empty()) continue;  // how it ended, who comes later cannot see
    // Its record went with its PodGroup: which pods are of an earlier run, say. Who is bound is
    // seen.
    // Or somebody else wrote it.
    const bool unrecorded = Doubted(gang.id.key.name) ||
                            (!gang.id.solo && cluster_->api().FindPodGroup(gang.id.key) == nullptr);
    // A single pod has no record that says that it was evicted and is not to start again.
    const bool evicted = gang.id.solo && known->reason.code == engine::ReasonCode::kEvicted;
    // It forgets pauses too: for whoever paused, those that leave already make way there.
    const bool makes_way = gang.reason.code == engine::ReasonCode::kPreempted;
    const bool same = known->bound == gang.bound &&
                      (unrecorded || evicted || makes_way ||
                       (known->state == gang.state && known->succeeded == gang.succeeded &&
                        known->failed == gang.failed && known->min_member == gang.min_member));
    if (!same) {
      return "rebuilt from scratch the engine judges " + gang.id.key.name +
             " otherwise: " + Brief(*known) + ", then " + Brief(gang);
    }
  }
  return "";
}

// Of CPU and memory a node has what kube-scheduler sees free there, less what is planned.
std::string World::CheckRoom() {
  const engine::Scheduler& present = cluster_->muster()->scheduler();
  const auto preempting = static_cast<size_t>(engine::GangState::kPreempting);
  if (Delayed() || present.Count().gangs[preempting] > 0) return "";
  ApiServer& api = cluster_->api();
  std::map<std::string, cluster::Resources> taken;
  for (const PodPtr& pod : api.Pods()) {
    if (pod->pod.bound() && !pod->pod.terminal())
      taken[pod->pod.node_name] += HeldBy(pod->pod).resources;
  }
  for (const engine::NodeView& view : present.Nodes()) {
    cluster::Resources left = view.node.allocatable;
    left -= taken[view.node.name];
    for (const cluster::PodUid& holder : view.holders) {
      const PodPtr pod = api.FindPod(holder);
      if (pod != nullptr && !pod->pod.bound()) left -= pod->pod.spec->requests;
    }
    left = left.Positive();
    if (left.cpu != view.free.cpu || left.memory != view.free.memory)
      return "the engine has other books of " + view.node.name +
             " than kube-scheduler: " + Words(view.free) + " free, not " + Words(left);
  }
  return "";
}

// However its plans end, a gang is planned a few times for every time that something happens, and
// every five seconds at most.
std::string World::CheckPlans() {
  const Time now = cluster_->loop().now();
  for (const engine::GangView& gang : cluster_->muster()->scheduler().Gangs()) {
    Plans& plans = plans_.try_emplace(gang.id.key, Plans{0, 10, now}).first->second;
    const int64_t made = gang.plans < plans.seen ? gang.plans : gang.plans - plans.seen;
    plans.spare += 2 + (now - plans.at).value() / 5000 - made;
    plans.seen = gang.plans;
    plans.at = now;
    if (plans.spare < 0) return "gang " + gang.id.key.name + " is planned again and again";
    plans.spare = std::min<int64_t>(plans.spare, 20);
  }
  return "";
}

void World::LoseNode(const std::string& name) {
  for (const PodPtr& pod : cluster_->api().Pods()) {
    // Also where a pod may be bound to it before Muster hears of it.
    if (pod->pod.node_name == name || pod->pod.nominated_node == name)
      torn_.insert(pod->pod.pod_group);
  }
}

// The pods of a subgroup that requires one domain are in one.
std::string World::CheckSubgroups(const PodGroupPtr& group) {
  for (const cluster::TopologySubgroup& subgroup : group->group.topology.subgroups) {
    if (subgroup.required.empty()) continue;
    std::set<std::string> domains;
    for (const PodPtr& pod : cluster_->api().Pods()) {
      const bool is_in =
          pod->pod.pod_group == group->group.key.name &&
          std::binary_search(subgroup.roles.begin(), subgroup.roles.end(), pod->pod.role);
      if (!is_in || !pod->pod.bound() || pod->pod.terminal() || pod->pod.deleting) continue;
      const NodePtr node = cluster_->api().FindNode(pod->pod.node_name);
      if (node == nullptr) continue;
      const auto label = node->node.labels.find(subgroup.required);
      domains.insert(label == node->node.labels.end() ? "" : label->second);
    }
    if (domains.size() > 1 || domains.contains(""))
      return "subgroup " + subgroup.name + " of gang " + group->group.key.name + " is in no one " +
             subgroup.required;
  }
  return "";
}

// A gang that requires one domain, all of which is Muster's to place, is in one. Segments of a gang
// that runs as it was created are whole.
std::string World::CheckDomains() {
  ApiServer& api = cluster_->api();
  for (const PodGroupPtr& group : api.PodGroups()) {
    const cluster::TopologyTerms& terms = group->group.topology;
    const std::string& name = group->group.key.name;
    if (terms.none() || torn_.contains(name)) continue;
    std::map<std::string, int64_t> domains;
    int64_t whole = 0;
    bool of_muster = true;
    const std::string level = terms.required.empty() ? "rack" : terms.required;
    for (const PodPtr& pod : api.Pods()) {
      if (pod->pod.pod_group != name) continue;
      of_muster = of_muster && pod->pod.spec->scheduler_name == "muster";
      const bool there = pod->pod.bound() && !pod->pod.terminal() && !pod->pod.deleting;
      whole = there && whole >= 0 ? whole + 1 : -1;
      const NodePtr node = there ? api.FindNode(pod->pod.node_name) : nullptr;
      if (node == nullptr) continue;
      const auto label = node->node.labels.find(level);
      ++domains[label == node->node.labels.end() ? "" : label->second];
    }
    if (!of_muster) continue;
    if (std::string fault = CheckSubgroups(group); !fault.empty()) return fault;
    if (!terms.required.empty() && domains.size() > 1)
      return "gang " + name + " is in several domains of level " + level;
    if (!terms.required.empty() && domains.contains(""))
      return "gang " + name + " is in no domain of level " + level;
    for (const auto& [domain, pods] : domains) {
      const bool as_begun = whole == group->group.min_member && !changed_.contains(name);
      if (as_begun && !terms.segments.empty() && pods % terms.segments.front().size != 0)
        return "gang " + name + " has a partial segment in rack " + domain;
    }
  }
  return "";
}

namespace {

bool AsksForPart(const ApiServer& api, const engine::GangView& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& member) {
    const PodPtr pod = api.FindPod(member.uid);
    return pod != nullptr && pod->pod.spec->gpus.fractional();
  });
}

}  // namespace

// Gangs that wait though the cluster is empty, healthy and theirs: taken away what runs, others
// must start, until none waits. (Every round takes pods away, and nobody makes new ones but Jobs,
// which give up.)
std::string World::CheckProgress() {
  ApiServer& api = cluster_->api();
  const auto waiting = [&] {
    std::vector<std::string> names;
    for (const engine::GangView& gang : cluster_->muster()->scheduler().Gangs()) {
      const bool waits =
          gang.state == engine::GangState::kQueued || gang.state == engine::GangState::kReserved ||
          gang.state == engine::GangState::kBinding || gang.state == engine::GangState::kBackoff ||
          gang.state == engine::GangState::kPreempting ||
          gang.state == engine::GangState::kDegraded ||
          gang.reason.code == engine::ReasonCode::kOwnersUnread;
      // Those that kube-scheduler never asks about wait for ever, once they were planned: for the
      // next reservation, for Bind, or until a node that seems to be unfit may be tried again.
      const bool doomed = gang.id.key.name.starts_with("doomed") && gang.plans > 0;
      // A part of a GPU finds room beside others on nodes that are spares while they are free.
      const bool spares =
          AsksForPart(api, gang) && Describe(gang.reason).ends_with("kept for lost members");
      if (waits && !doomed && !spares && !Doubted(gang.id.key.name))
        names.push_back(gang.id.key.name + " (" + ToString(gang.state) + ", " +
                        Describe(gang.reason) + ")");
    }
    if (owners_->withheld() > 0) names.emplace_back("(pods whose owner is not read)");
    return names;
  };
  for (bool rested = false;;) {
    const std::vector<std::string> names = waiting();
    if (names.empty()) return "";
    bool ran = false;
    for (const PodPtr& pod : api.Pods()) {
      if (!pod->pod.bound()) continue;
      ran = true;
      static_cast<void>(api.DeletePod(Actor::kUser, RefOf(pod), Duration()));
    }
    if (!ran && rested) {
      std::string all;
      for (const std::string& name : names) all += (all.empty() ? "gang " : "; gang ") + name;
      return all + ": not started in an empty cluster";
    }
    // Whose reservations expired again and again pauses for an hour at most.
    rested = !ran;
    Run(Seconds(rested ? 3700 : 900));
  }
}

std::string World::Finish() {
  ApiServer& api = cluster_->api();
  Tell("(all faults end)");
  if (autoscaler_ != nullptr) autoscaler_->Stop();
  cluster_->muster()->SetFaults({});
  for (const char* ns : kNamespaces) api.SetOwnerReads(ns, OwnerReads::kServed);
  for (const auto& [queue, order] : cluster_->muster()->scheduler().Orders().queues) {
    const engine::SetQueueState resume{queue, queues::QueueState::kOpen};
    static_cast<void>(
        cluster_->muster()->scheduler().Carry({"ann", resume}, cluster_->loop().now()));
  }
  cluster_->muster()->Kick();
  for (const NodePtr& old : api.Nodes()) {
    cluster_->kubelet().TurnDownAll(old->node.name, false);
    Node node = old->node;
    node.ready = true;
    node.unschedulable = false;
    for (cluster::Gpu& gpu : node.gpus) gpu.healthy = true;  // what needs all of them waits for it
    static_cast<void>(api.UpdateNode(Actor::kUser, std::move(node)));
  }
  for (const std::string& pod : turned_down_) cluster_->scheduler().TurnDownNoMore(pod);
  meddling_.reset();
  LiftBudgets();
  CompleteStorage();
  Run(Seconds(2000));
  if (!Broken().empty()) return Broken();
  // They may keep gangs of other queues off for ever.
  engine::Options shapeless = options_.muster.engine;
  for (queues::QueueSpec& queue : shapeless.queues) queue.shapes.clear();
  if (shapeless.queues != options_.muster.engine.queues)
    cluster_->muster()->SetOptions(std::move(shapeless));
  for (const JobPtr& job : api.Jobs()) {
    if (job->json.empty()) static_cast<void>(api.DeleteJob(Actor::kUser, job->key));
  }
  DeleteConditional();
  Run(Seconds(60));
  Tell("(what runs is taken away until all have run)");
  std::string broken = CheckProgress();
  if (broken.empty()) broken = Broken();
  if (!broken.empty()) return broken;
  Tell("(everything is deleted)");
  for (const JobPtr& job : api.Jobs()) static_cast<void>(api.DeleteJob(Actor::kUser, job->key));
  for (const PodPtr& pod : api.Pods())
    static_cast<void>(api.DeletePod(Actor::kUser, RefOf(pod), Duration()));
  for (const PodGroupPtr& group : api.PodGroups()) {
    static_cast<void>(api.DeletePodGroup(Actor::kUser, group->group.key));
  }
  for (const NodePtr& node : api.Nodes())
    static_cast<void>(api.DeleteNode(Actor::kUser, node->node.name));
  DeleteStorage();
  Run(Seconds(600));
  if (!Broken().empty()) return Broken();
  const std::string left = cluster_->muster()->scheduler().Dump();
  engine::Scheduler empty(options_.muster.engine);
  for (const engine::Fact& fact : StorageFacts()) empty.Apply(fact, cluster_->loop().now());
  if (left != empty.Dump()) return "left over in the engine:\n" + left;
  const engine::Counts counts = cluster_->muster()->scheduler().Count();
  if (counts.held_binds != 0) return "Bind calls are held for pods that are gone";
  const KubeScheduler& scheduler = cluster_->scheduler();
  const size_t queued = scheduler.active() + scheduler.backing_off() + scheduler.unschedulable() +
                        scheduler.gated() + scheduler.binding();
  return queued == 0 ? "" : "pods that are gone are left in kube-scheduler";
}

}  // namespace muster::sim::testing
