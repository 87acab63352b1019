#include "engine/explain/decided_facts.hpp"

#include <utility>

#include "engine/claims/claim_state.hpp"
#include "engine/judging/volumes.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;

namespace {

constexpr int64_t kGangsAtOnce = 1024;  // of gangs, by CostOf

// The pod is bound where it is planned.
Pod AsBound(Pod pod, const MemberPlan& plan) {
  pod.node_name = plan.node;
  pod.bound_gpus.clear();
  for (const cluster::GpuShare& gpu : plan.placement->gpus) pod.bound_gpus.push_back(gpu.index);
  pod.bound_by_muster = true;
  pod.gates.clear();
  pod.nominated_node.clear();
  return pod;
}

}  // namespace

std::vector<Fact> FewFacts(const ClaimState& state) {
  std::vector<Fact> facts;
  for (const auto* one : state.cluster.Namespaces()) facts.emplace_back(*one);
  for (const auto* one : state.cluster.PriorityClasses()) facts.emplace_back(*one);
  for (const auto* one : state.cluster.DisruptionBudgets()) facts.emplace_back(*one);
  facts.emplace_back(state.orders.standing());
  for (const auto& [ns, quotas] : state.quotas.all()) {
    for (const auto& [uid, quota] : quotas) facts.emplace_back(quota);
  }
  for (const auto& [key, request] : state.requests.all()) {
    if (!request.wanted || !request.there) continue;
    cluster::ProvisioningRequest told;
    // One of which no fact has told has no UID yet.
    told.uid = request.uid.empty() ? cluster::ProvisioningRequestUid(key.ToString()) : request.uid;
    told.key = key;
    told.gang = request.ask.gang;
    told.fingerprint = request.ask.fingerprint;
    told.attempt = request.ask.attempt;
    told.pod_sets = request.pod_sets;
    told.state = request.state;
    told.since = request.since;
    told.message = request.message;
    facts.emplace_back(std::move(told));
  }
  facts.emplace_back(state.run_history.All());
  if (auto usage = state.queue_book.UsedSoFar()) facts.emplace_back(*std::move(usage));
  for (cluster::StorageRecord& record : state.volumes.All()) facts.emplace_back(std::move(record));
  facts.emplace_back(StorageReadable{state.volumes.readable()});
  for (cluster::BatchJob& job : state.jobs.All()) facts.emplace_back(std::move(job));
  return facts;
}

bool TellGangs(const ClaimState& state, std::optional<GangId>& last, std::vector<Fact>& facts) {
  const auto& gangs = state.members.gangs();
  auto next = last ? gangs.upper_bound(*last) : gangs.begin();
  for (int64_t left = kGangsAtOnce; next != gangs.end() && left > 0; ++next) {
    const Gang& gang = next->second;
    if (const cluster::PodGroup* group = state.members.GroupOf(gang)) facts.emplace_back(*group);
    for (const auto& [uid, member] : gang.members) {
      // A victim is gone.
      if (state.preemptions.PreemptorOf(uid) != nullptr) continue;
      // Its node may be another one of that name by now, and the plan about to go.
      const bool has = member.held() != nullptr || state.cluster.Earmarked(uid);
      const bool planned = member.planned() && has && !member.pod->bound();
      Pod pod = planned ? AsBound(*member.pod, *member.plan) : *member.pod;
      if (member.holds() && pod.bound_at == cluster::Time(0))
        pod.bound_at = gang.past.running_since().value_or(cluster::Time(0));
      facts.emplace_back(AsDeclared(std::move(pod)));
    }
    left -= CostOf(gang);
    last = next->first;
  }
  return next == gangs.end();
}

void TellOthers(const ClaimState& state, cluster::NodeIndex node, std::vector<Fact>& facts) {
  for (const PodUid& uid : state.cluster.HoldersOn(node)) {
    if (!state.members.IsMember(uid)) facts.emplace_back(AsDeclared(*state.cluster.FindPod(uid)));
  }
}

cluster::Node AsFact(cluster::Node node) {
  node.unschedulable = node.unschedulable || node.left_out;
  node.left_out = false;
  for (cluster::Gpu& gpu : node.gpus) {
    gpu.cordoned = gpu.cordoned || gpu.left_out;
    gpu.left_out = false;
  }
  return node;
}

}  // namespace muster::engine
