// What kube-scheduler looks at beside the room of nodes, in a World: rules among pods, and volumes.
// And what happens while Muster plans.
#include <algorithm>

#include "property_world.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {

using cluster::Duration;
using cluster::Node;

namespace {

constexpr const char* kApp = "app";
constexpr const char* kHost = "kubernetes.io/hostname";

cluster::PodSelector PodsOf(const std::string& app) {
  return {.nobody = false, .requirements = {{kApp, cluster::SelectorOperator::kIn, {app}}}};
}

cluster::PodTerm TermOver(const std::string& app, const std::string& key) {
  cluster::PodTerm term;
  term.pods = PodsOf(app);
  term.namespaces = {"default"};
  term.topology_key = key;
  return term;
}

// Of a pod whose label says that app.
cluster::PodRules RulesOf(uint32_t kind, const std::string& app) {
  cluster::PodRules rules;
  switch (kind) {
    case 0:
      rules.host_ports = {{cluster::PortProtocol::kTcp, 80, ""}};
      break;
    case 1:
      rules.anti_affinity = {TermOver(app, kHost)};
      break;
    case 2:
      rules.anti_affinity = {TermOver(app == "a" ? "b" : "a", "rack")};
      break;
    case 3:
      rules.affinity = {TermOver(app, "block")};
      break;
    default:
      rules.spread = {
          {.max_skew = 1, .min_domains = 1, .topology_key = "rack", .pods = PodsOf(app)}};
      break;
  }
  rules.apart = kind < 2;
  return rules;
}

OtherRecord StorageOf(const std::string& kind, const cluster::ObjectKey& key,
                      cluster::StorageRecord record) {
  OtherRecord other;
  other.kind = kind;
  other.key = key;
  other.storage = std::make_shared<const cluster::StorageRecord>(std::move(record));
  return other;
}

OtherRecord ClaimOf(const std::string& name) {
  cluster::VolumeClaim claim;
  claim.key = Key(name);
  claim.volume = "volume-" + name;
  claim.bound = true;
  return StorageOf("PersistentVolumeClaim", claim.key, claim);
}

OtherRecord VolumeOf(const std::string& claim, std::vector<cluster::NodeSelectorTerm> places) {
  cluster::Volume volume;
  volume.name = "volume-" + claim;
  volume.claim = Key(claim);
  volume.places = std::move(places);
  return StorageOf("PersistentVolume", {"", volume.name}, volume);
}

}  // namespace

// One pod in four names others, and one in ten a claim: of one rack, of all nodes, or one that is
// not there.
void World::AddConditions(muster::testing::PodBuilder& pod, uint32_t kind) {
  const std::string app = kind % 2 == 0 ? "a" : "b";
  pod.Label(kApp, app);
  if (kind % 23 < 5) pod.Rules(RulesOf(kind % 23, app));
}

void World::AddClaim(PodRecord& record, uint32_t kind) const {
  if (!storage_ || kind % 29 > 2) return;
  cluster::PodVolumes volumes;
  volumes.claims = {{kind % 29 == 0 ? "local" : (kind % 29 == 1 ? "shared" : "missing"), false}};
  record.pod.volumes = std::make_shared<const cluster::PodVolumes>(std::move(volumes));
}

std::vector<engine::Fact> World::StorageFacts() const {
  std::vector<engine::Fact> facts;
  if (storage_) facts.emplace_back(engine::StorageReadable{true});
  for (const OtherRecord& one : stored_) facts.emplace_back(*one.storage);
  return facts;
}

void World::Store(OtherRecord record) {
  static_cast<void>(cluster_->api().CreateOther(Actor::kUser, record));
  cluster_->muster()->scheduler().Apply(engine::Fact(*record.storage), cluster_->loop().now());
  cluster_->muster()->Kick();
  stored_.push_back(std::move(record));
}

void World::TellStorage() {
  for (const engine::Fact& fact : StorageFacts())
    cluster_->muster()->scheduler().Apply(fact, cluster_->loop().now());
  cluster_->muster()->Kick();
}

void World::CreateStorage() {
  TellStorage();
  Store(VolumeOf("local", {{{{"rack", cluster::SelectorOperator::kIn, {"0"}}}, {}}}));
  Store(VolumeOf("shared", {}));
  Store(ClaimOf("local"));
  Store(ClaimOf("shared"));
}

void World::CompleteStorage() {
  if (!storage_) return;
  Store(VolumeOf("missing", {}));
  Store(ClaimOf("missing"));
}

void World::DeleteStorage() {
  const Time now = cluster_->loop().now();
  for (const OtherRecord& one : stored_) {
    static_cast<void>(cluster_->api().DeleteOther(Actor::kUser, one.kind, one.key));
    cluster_->muster()->scheduler().Apply(
        engine::StorageRemoved{cluster::KindOf(*one.storage), one.key}, now);
  }
  stored_.clear();
  cluster_->muster()->Kick();
}

// Gangs of pods with rules or claims may have no place, whatever becomes of the others.
void World::DeleteConditional() {
  ApiServer& api = cluster_->api();
  std::set<std::string> gangs;
  const auto conditional = [](const cluster::Pod& pod) {
    return !pod.spec->rules.none() || pod.volumes != nullptr;
  };
  for (const PodPtr& pod : api.Pods()) {
    if (conditional(pod->pod)) gangs.insert(pod->pod.pod_group);
  }
  for (const PodPtr& pod : api.Pods()) {
    if (conditional(pod->pod) ||
        (!pod->pod.pod_group.empty() && gangs.contains(pod->pod.pod_group)))
      static_cast<void>(api.DeletePod(Actor::kUser, RefOf(pod), Duration()));
  }
}

void World::RestartMuster() {
  old_pods_.clear();  // a new process lists afresh and never hears what the old one was told
  const engine::StandingOrders orders = cluster_->muster()->scheduler().Orders();
  const auto usage = cluster_->muster()->scheduler().UsedSoFar();
  restarted_ = cluster_->loop().now();
  cluster_->muster()->Restart();
  TellStorage();
  owners_->Start();
  cluster_->muster()->scheduler().Apply(orders, cluster_->loop().now());
  if (usage) cluster_->muster()->scheduler().Apply(*usage, cluster_->loop().now());
  TellBudgets();
}

void World::PutInGroup(PodRecord& pod, const std::string& group) {
  pod.pod.pod_group = group;
  cluster::PodLabels::List labels(pod.pod.labels.list().begin(), pod.pod.labels.list().end());
  std::erase_if(labels, [](const auto& label) { return label->first == kGangLabel; });
  labels.push_back(std::make_shared<const cluster::PodLabel>(kGangLabel, group));
  std::sort(labels.begin(), labels.end(),
            [](const auto& a, const auto& b) { return a->first < b->first; });
  pod.pod.labels = cluster::PodLabels(std::move(labels));
}

// Of one in four the engine hears nothing.
void World::ChangeBudget(const Operation& operation) {
  const PodGroupPtr group = PickGroup(operation.a);
  if (group == nullptr) return;
  const cluster::ObjectKey& key = group->group.key;
  cluster::DisruptionBudget budget;
  budget.disruptions_allowed = operation.b % 4;
  cluster_->api().SetBudget(key, budget.disruptions_allowed);
  const bool heard = operation.c % 4 != 0;
  Tell("the budget of " + key.name + " allows " + std::to_string(budget.disruptions_allowed) +
       (heard ? "" : ", which Muster does not hear"));
  if (!heard) return;
  budget.uid = cluster::DisruptionBudgetUid("budget-" + key.name);
  budget.key = key;
  budget.resource_version = ++made_;
  budget.selector = {{kGangLabel, cluster::SelectorOperator::kIn, {key.name}}};
  budgets_[key.name] = budget;
  TellBudgets();
}

void World::TellBudgets() {
  for (const auto& [gang, budget] : budgets_)
    cluster_->muster()->scheduler().Apply(budget, cluster_->loop().now());
  cluster_->muster()->Kick();
}

void World::LiftBudgets() {
  constexpr int64_t kAllMayGo = 1'000;
  for (const PodGroupPtr& group : cluster_->api().PodGroups()) {
    if (cluster_->api().HasBudget(group->group.key))
      cluster_->api().SetBudget(group->group.key, kAllMayGo);
  }
  for (const auto& [gang, budget] : budgets_) {
    cluster_->api().SetBudget(budget.key, kAllMayGo);
    cluster_->muster()->scheduler().Apply(engine::DisruptionBudgetRemoved{budget.uid},
                                          cluster_->loop().now());
  }
  budgets_.clear();
  cluster_->muster()->Kick();
}

// Between a plan and its commit, once: the API server's objects change, and Muster hears of it at
// once, or kube-scheduler calls.
void World::RestartOrFail(const Operation& operation) {
  if (operation.what == Happening::kRestartScheduler) {
    Tell("kube-scheduler restarts");
    cluster_->scheduler().Restart();
    return;
  }
  if (operation.what == Happening::kRestartMuster) {
    Tell("muster restarts");
    RestartMuster();
    return;
  }
  WriteFaults faults = options_.muster.writes;
  if (operation.a % 2 == 0 && Delayed()) {
    faults.lost_per_mille = operation.b % 400;
    faults.unclear_per_mille = operation.c % 400;
  }
  Tell("of 1000 writes " + std::to_string(faults.lost_per_mille) + " are lost, " +
       std::to_string(faults.unclear_per_mille) + " unclear");
  cluster_->muster()->SetFaults(faults);
}

void World::Meddle() {
  if (!meddling_) return;
  const Operation operation = *std::exchange(meddling_, std::nullopt);
  ApiServer& api = cluster_->api();
  engine::Scheduler& scheduler = cluster_->muster()->scheduler();
  const Time now = cluster_->loop().now();
  const PodPtr pod = PickPod(operation.b);
  const NodePtr node = PickNode(operation.b);
  switch (operation.a % 4) {
    case 0:
      if (pod == nullptr || IsOwned(*pod)) return;
      changed_.insert(pod->pod.pod_group);
      static_cast<void>(api.DeletePod(Actor::kUser, RefOf(pod), Duration()));
      return scheduler.Apply(engine::PodRemoved{pod->pod.uid}, now);
    case 1: {
      if (node == nullptr || Delayed()) return;
      Node changed = node->node;
      changed.unschedulable = !changed.unschedulable;
      static_cast<void>(api.UpdateNode(Actor::kUser, changed));
      return scheduler.Apply(changed, now);
    }
    case 2: {
      const auto made = api.CreatePod(
          Actor::kUser, NewPod("meanwhile" + std::to_string(made_++), operation.c % 1000));
      if (made.ok()) scheduler.Apply((*made)->pod, now);
      return;
    }
    default: {
      if (pod == nullptr || node == nullptr || pod->pod.spec->scheduler_name == kOther) return;
      engine::NodesQuestion question;
      question.pod = pod->pod;
      if (!owners_->Ask(question.pod).empty()) return;
      for (const NodePtr& one : api.Nodes()) question.nodes.push_back(one->node.name);
      scheduler.Filter(question, now);
      return cluster_->muster()->Kick();
    }
  }
}

}  // namespace muster::sim::testing
