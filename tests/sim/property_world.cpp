#include "property_world.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/scheduler.hpp"
#include "property_queues.hpp"
#include "sim/calls/direct_extender.hpp"
#include "sim_support.hpp"
#include "tests/support/fabrics.hpp"
#include "tests/topology/machines.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::sim::testing {

using cluster::Duration;
using cluster::Node;

namespace {

constexpr size_t kMostNodes = 8;
constexpr size_t kMostPods = 60;

// A mesh of links with NICs, for nodes of eight GPUs; those of fewer have its slowest link.
std::shared_ptr<const topology::MachineProfiles> MeshProfile() {
  topology::MachineProfile mesh{"mesh", {GpuNode(1).gpus.front().model}, {}, {}};
  mesh.machine = *topology::ParseMachine(topology::testing::kDgx1v, "mesh");
  return std::make_shared<const topology::MachineProfiles>(
      *topology::MachineProfiles::Of({std::move(mesh)}));
}

Options WorldOptions(uint64_t seed) {
  Random random(seed);
  Options options;
  options.seed = seed;
  options.audit = true;
  options.auditor.scheduler_names = {"muster", "default-scheduler"};
  options.api.gating =
      random.Chance(500) ? Gating::kGangs : (random.Chance(500) ? Gating::kNone : Gating::kAll);
  options.scheduler.percentage_of_nodes_to_score = random.Chance(500) ? 0 : 100;
  options.scheduler.cycle_time = Duration(random.Between(0, 20));
  options.scheduler.http_timeout = Seconds(30);
  options.muster.engine.bind_hold_timeout = Seconds(24);
  options.muster.engine.scheduler_names = {"muster", kNobody};
  const bool strict = random.Chance(200);
  options.muster.engine.placement.strategy =
      random.Chance(500) ? policy::Strategy::kBinpack : policy::Strategy::kSpread;
  options.muster.engine.bad_nodes.max = Seconds(600);
  options.muster.engine.reservation_timeout = Seconds(random.Between(5, 120));
  if (random.Chance(300)) options.kubelet.admission_failures_per_mille = 20;
  if (random.Chance(400)) {
    options.muster.watch = {Duration(random.Between(0, 200)), Duration(random.Between(1, 2000)),
                            random.Chance(500), 100};
    options.muster.writes.latency = Duration(random.Between(0, 50));
    options.muster.writes.jitter = Duration(random.Between(0, 500));
    options.auditor.node_slack = Seconds(20);
  }
  const bool preempts = random.Chance(500);
  options.muster.engine.queues = queues::OneQueue(
      strict ? queues::Order::kStrictFifo : queues::Order::kFifo,
      preempts ? queues::WithinQueue::kLowerPriority : queues::WithinQueue::kNever);
  if (random.Chance(100)) options.muster.engine.partial_gang = engine::PartialGang::kHold;
  if (random.Chance(500)) {
    topology::FabricOptions& fabric = options.muster.engine.placement.fabric;
    fabric = muster::testing::BlocksAndRacks();
    options.muster.engine.lost_member = static_cast<engine::LostMember>(random.Below(4));
    if (random.Chance(300)) fabric.reserve = {{random.Chance(500) ? "rack" : "block", 1}};
  }
  if (random.Chance(500)) options.muster.engine.placement.profiles = MeshProfile();
  if (random.Chance(400)) options.muster.engine.queues = SomeQueues(random);
  if (random.Chance(300)) {
    options.muster.engine.autoscaling.scale_up = engine::ScaleUp::kUnschedulable;
    options.muster.engine.autoscaling.after = Seconds(random.Between(0, 20));
    if (random.Chance(500))
      options.muster.engine.autoscaling.scale_up = engine::ScaleUp::kProvisioningRequest;
    if (random.Chance(200))
      options.muster.engine.autoscaling.provisioning_class = cluster::kCheckCapacityClass;
  }
  return options;
}

// How a node's devices are shared never changes: what is on its way to a device just then is not
// Muster's doing.
void SetGpus(Node& node, uint32_t count) {
  node.gpus = GpuNode(static_cast<int>(count)).gpus;
  const int kind = (node.name.back() - '0') % 4;
  if (kind > 1) return;
  node.plugin = cluster::DevicePlugin::kHami;
  for (cluster::Gpu& gpu : node.gpus) {
    gpu.uuid = "GPU-" + std::to_string(gpu.index.value);
    if (kind == 0) gpu.sharing = cluster::GpuSharing::Fractional();
  }
}

Node NewNode(const std::string& name, uint32_t gpus) {
  Node node = GpuNode(0);
  node.name = name;
  SetGpus(node, gpus);
  node.allocatable.cpu = cluster::MilliCpu(16'000);
  node.allocatable.pods = 20;
  node.labels["kubernetes.io/hostname"] = name;
  const int number = std::stoi(name.substr(std::string("node").size()));
  // GPUs that it does not offer are missing from a machine of eight.
  if (number % 2 == 0) node.labels["nvidia.com/gpu.count"] = "8";
  // Two blocks of two racks, and one node in nine without.
  if (number % 9 != 8) {
    node.labels["block"] = std::to_string(number / 2 % 2);
    node.labels["rack"] = std::to_string(number % 4);
  }
  return node;
}

template <typename T>
T Pick(const std::vector<T>& from, uint32_t pick) {
  return from.empty() ? T{} : from[pick % from.size()];
}

}  // namespace

std::vector<Operation> RandomOperations(uint64_t seed, size_t count) {
  Random random(seed);
  // How often each happens, in the order of Happening.
  constexpr int kWeights[kHappenings] = {14, 8, 3, 3, 8, 4, 4, 1, 2, 3, 4, 2, 2, 5, 3, 5, 22, 8,
                                         6,  5, 4, 2, 3, 3, 8, 2, 1, 1, 2, 3, 6, 6, 6, 4, 3,  4};
  std::vector<Happening> bag;
  for (int i = 0; i < kHappenings; ++i) {
    bag.insert(bag.end(), static_cast<size_t>(kWeights[i]), static_cast<Happening>(i));
  }
  const auto number = [&] { return static_cast<uint32_t>(random.Next() >> 32U); };
  std::vector<Operation> operations;
  for (size_t i = 0; i < count; ++i) {
    operations.push_back({bag[random.Below(bag.size())], number(), number(), number()});
  }
  return operations;
}

World::World(uint64_t seed, std::function<void(const std::string&)> tell)
    : options_([&] {
        Options options = WorldOptions(seed);
        options.muster.meanwhile = [this] { Meddle(); };
        const bool late = options.muster.watch.jitter.value() > 0;
        options.muster.make_reader = [this, late] {
          owners_ = std::make_shared<OwnerReader>(cluster_, late);
          return [reader = owners_](const WatchEvent& event) { return reader->Read(event); };
        };
        options.extender = [this](EventLoop& loop, MusterLink& link) {
          return GroupingExtender(loop, link, [this](auto& pod) { return owners_->Ask(pod); });
        };
        return options;
      }()),
      cluster_(std::make_unique<Cluster>(options_)),
      storage_(seed % 3 == 0),
      tell_(std::move(tell)) {
  if (storage_) CreateStorage();
  if (options_.muster.engine.autoscaling.scale_up == engine::ScaleUp::kProvisioningRequest) {
    // Of the names of World's own nodes, by whose numbers they are told apart.
    AutoscalerOptions scaling;
    scaling.pools = {{"node90", NewNode("node90", 8), 2}};
    autoscaler_ = std::make_unique<Autoscaler>(cluster_->loop(), cluster_->api(), scaling);
  }
  owners_->Start();
  for (uint32_t i = 0; i < 4; ++i) ChangeNodes({Happening::kAddNode, i, 0, 0});
  Run(Seconds(1));
}

PodPtr World::PickPod(uint32_t pick) const { return Pick(cluster_->api().Pods(), pick); }
NodePtr World::PickNode(uint32_t pick) const { return Pick(cluster_->api().Nodes(), pick); }
PodGroupPtr World::PickGroup(uint32_t pick) const {
  return Pick(cluster_->api().PodGroups(), pick);
}

void World::Run(Duration duration) { cluster_->loop().RunUntil(cluster_->loop().now() + duration); }

std::string World::Broken() {
  const std::vector<std::string>& findings = cluster_->auditor()->findings();
  return findings.empty() ? "" : findings.front();
}

void World::Remove(const Operation& operation) {
  ApiServer& api = cluster_->api();
  if (operation.what == Happening::kDeleteGang) {
    const PodGroupPtr group = PickGroup(operation.a);
    if (group == nullptr) return;
    Tell("delete gang " + group->group.key.name);
    static_cast<void>(api.DeleteJob(Actor::kUser, group->group.key));
    static_cast<void>(api.DeletePodGroup(Actor::kUser, group->group.key));
    for (const PodPtr& pod : api.Pods()) {
      if (pod->pod.pod_group == group->group.key.name) {
        static_cast<void>(api.DeletePod(Actor::kUser, RefOf(pod)));
      }
    }
    return;
  }
  const PodPtr pod = PickPod(operation.a);
  if (pod == nullptr) return;
  const bool again = operation.what == Happening::kRecreatePod;
  Tell(std::string(again ? "recreate" : "delete") + " pod " + pod->pod.key.name);
  changed_.insert(pod->pod.pod_group);
  old_pods_.push_back(pod);
  const auto grace = again ? std::optional(Duration()) : std::nullopt;
  static_cast<void>(api.DeletePod(Actor::kUser, RefOf(pod), grace));
  if (!again) return;
  PodRecord fresh = NewPod(pod->pod.key.name, operation.b % 1000);
  if (!pod->pod.pod_group.empty()) PutInGroup(fresh, pod->pod.pod_group);
  fresh.pod.role = pod->pod.role;
  fresh.job_uid = pod->job_uid;
  fresh.pod.owner_uid = pod->pod.owner_uid;
  fresh.job_index = pod->job_index;
  static_cast<void>(api.CreatePod(Actor::kUser, std::move(fresh)));
}

void World::ChangeGroup(const Operation& operation) {
  ApiServer& api = cluster_->api();
  const PodGroupPtr group = PickGroup(operation.a);
  if (group == nullptr) return;
  cluster::PodGroup next = group->group;
  next.min_member = std::max<int64_t>(0, next.min_member - 1 + operation.b % 3);
  const std::string name = next.key.name;
  changed_.insert(name);
  if (operation.what == Happening::kChangeMinimum) {
    Tell("minMember of " + name + " becomes " + std::to_string(next.min_member));
    static_cast<void>(api.UpdatePodGroup(Actor::kUser, next));
    return;
  }
  const bool again = operation.what == Happening::kRecreateGroup;
  Tell(std::string(again ? "recreate" : "delete") + " PodGroup " + name);
  static_cast<void>(api.DeletePodGroup(Actor::kUser, next.key));
  if (again) static_cast<void>(api.CreatePodGroup(Actor::kUser, next));
}

void World::ChangeNodes(const Operation& operation) {
  ApiServer& api = cluster_->api();
  if (operation.what == Happening::kAddNode) {
    if (api.node_count() >= kMostNodes) return;
    Node node =
        NewNode("node" + std::to_string(made_++), operation.a % 3 == 0 ? 8 : operation.a % 5);
    Tell("add " + node.name + " with " + std::to_string(node.gpus.size()) + " GPUs");
    static_cast<void>(api.CreateNode(Actor::kUser, std::move(node)));
    return;
  }
  const NodePtr old = PickNode(operation.a);
  if (old == nullptr) return;
  Node node = old->node;
  switch (operation.what) {
    case Happening::kDeleteNode:
      Tell("delete " + node.name);
      LoseNode(node.name);
      static_cast<void>(api.DeleteNode(Actor::kUser, node.name));
      return;
    case Happening::kRecreateNode: {
      Node fresh = NewNode(node.name, operation.b % 9);
      Tell("recreate " + node.name + " with " + std::to_string(fresh.gpus.size()) + " GPUs");
      LoseNode(node.name);
      static_cast<void>(api.DeleteNode(Actor::kUser, node.name));
      static_cast<void>(api.CreateNode(Actor::kUser, std::move(fresh)));
      return;
    }
    case Happening::kTurnDown:
      if (operation.c % 2 == 0) return TurnPodDown(operation, node.name);
      Tell("the kubelet of " + node.name + (operation.b % 2 == 0 ? " admits nobody" : " admits"));
      cluster_->kubelet().TurnDownAll(node.name, operation.b % 2 == 0);
      return;
    case Happening::kNodeReady:
      node.ready = !node.ready;
      Tell(node.name + (node.ready ? " is ready" : " is not ready"));
      break;
    default:
      node.unschedulable = !node.unschedulable;
      Tell(node.name + (node.unschedulable ? " is cordoned" : " is uncordoned"));
      break;
  }
  static_cast<void>(api.UpdateNode(Actor::kUser, std::move(node)));
}

// By a check of kube-scheduler's that Muster does not plan by; then no more.
void World::TurnPodDown(const Operation& operation, const std::string& node) {
  const PodPtr pod = PickPod(operation.b);
  if (pod == nullptr) return;
  const std::string& name = pod->pod.key.name;
  if (turned_down_.erase(name) > 0) {
    Tell("kube-scheduler takes " + name + " again");
    cluster_->scheduler().TurnDownNoMore(name);
    return;
  }
  const bool everywhere = operation.c % 4 == 0;
  Tell("kube-scheduler takes " + name + (everywhere ? " nowhere" : " not on " + node));
  turned_down_.insert(name);
  cluster_->scheduler().TurnDown({name, everywhere ? "" : node, "node(s) had no available disk"});
}

void World::ChangeGpus(const Operation& operation) {
  const NodePtr old = PickNode(operation.a);
  if (old == nullptr) return;
  Node node = old->node;
  if (operation.b % 3 == 0 && !node.gpus.empty()) {
    cluster::Gpu& gpu = node.gpus[operation.c % node.gpus.size()];
    gpu.healthy = !gpu.healthy;
    Tell("GPU " + std::to_string(gpu.index.value) + " of " + node.name +
         (gpu.healthy ? " is healthy" : " is unhealthy"));
  } else {
    SetGpus(node, operation.c % 9);
    Tell(node.name + " has " + std::to_string(node.gpus.size()) + " GPUs");
  }
  static_cast<void>(cluster_->api().UpdateNode(Actor::kUser, std::move(node)));
}

std::string World::FilterAgain(const Operation& operation) {
  const PodPtr pod = PickPod(operation.a);
  // Nobody asks about pods of other schedulers.
  if (pod == nullptr || pod->pod.spec->scheduler_name == kOther) return "";
  engine::NodesQuestion question;
  question.pod = pod->pod;
  for (const NodePtr& node : cluster_->api().Nodes()) {
    if (operation.b % 3 != 0 || operation.c % 2 == 0) question.nodes.push_back(node->node.name);
  }
  if (operation.b % 2 == 0 && !question.nodes.empty()) {
    question.nodes = {question.nodes[operation.c % question.nodes.size()]};
  }
  if (!owners_->Ask(question.pod).empty()) return "";
  Tell("Filter for " + pod->pod.key.name + " with " + std::to_string(question.nodes.size()) +
       " nodes");
  // The first time it may teach the engine a pod or break a plan; from then on it must only read.
  const Time now = cluster_->loop().now();
  engine::Scheduler& scheduler = cluster_->muster()->scheduler();
  scheduler.Filter(question, now);
  cluster_->muster()->Kick();
  cluster_->loop().RunUntil(now);
  engine::Scheduler& present = cluster_->muster()->scheduler();
  present.Filter(question, now);
  const std::string before = present.Dump();
  const engine::FilterAnswer first = present.Filter(question, now);
  for (int i = 0; i < 3; ++i) {
    present.Prioritize(question);
    const engine::FilterAnswer answer = present.Filter(question, now);
    if (answer.node != first.node || answer.refusal != first.refusal ||
        answer.error != first.error) {
      return "Filter answered \"" + first.node + "\" \"" + first.refusal + "\", then \"" +
             answer.node + "\" \"" + answer.refusal + "\"";
    }
  }
  const bool listed =
      std::find(question.nodes.begin(), question.nodes.end(), first.node) != question.nodes.end();
  if (!first.node.empty() && !listed) return "Filter answered a node that it was not asked about";
  return present.Dump() == before
             ? ""
             : "Filter changed the engine's state:\n" + before + "\n" + present.Dump();
}

void World::BindAgain(const Operation& operation) {
  const PodPtr pod = PickPod(operation.a);
  const NodePtr node = PickNode(operation.b);
  if (pod == nullptr || node == nullptr) return;
  // Half of the calls name the node that the pod has or should have.
  std::string name = node->node.name;
  if (operation.c % 2 == 0 && !pod->pod.nominated_node.empty()) name = pod->pod.nominated_node;
  if (operation.c % 2 == 0 && pod->pod.bound()) name = pod->pod.node_name;
  Tell("Bind call for " + pod->pod.key.name + " on " + name);
  constexpr uint64_t kOurTickets = uint64_t{1} << 40U;
  cluster_->muster()->scheduler().Bind({pod->pod.key, pod->pod.uid, name},
                                       kOurTickets + static_cast<uint64_t>(made_++),
                                       cluster_->loop().now());
  cluster_->muster()->Kick();
}

void World::OldNews(const Operation& operation) {
  if (old_pods_.size() > 50) old_pods_.erase(old_pods_.begin(), old_pods_.begin() + 25);
  const PodPtr present = PickPod(operation.b);
  const PodPtr old = Pick(old_pods_, operation.a);
  if (present != nullptr) old_pods_.push_back(present);
  if (old == nullptr || IsOwned(*old)) return;
  Tell("the engine hears again of " + old->pod.key.name + ", version " +
       std::to_string(old->pod.resource_version));
  cluster_->muster()->scheduler().Apply(old->pod, cluster_->loop().now());
  cluster_->muster()->Kick();
}

std::string World::Do(const Operation& operation) {
  const int64_t before = told_;
  std::string broken;
  const bool makes_pods =
      operation.what <= Happening::kJob || operation.what == Happening::kOwnedJob ||
      (operation.what >= Happening::kMixedGang && operation.what < Happening::kOrder);
  if (makes_pods && cluster_->api().pod_count() >= kMostPods) {
    Tell("(enough pods)");
  } else {
    switch (operation.what) {
      case Happening::kGang:
      case Happening::kSolo:
        CreateGang(operation);
        break;
      case Happening::kForeignPod:
        CreateForeignPod(operation);
        break;
      case Happening::kJob:
        CreateJob(operation);
        break;
      case Happening::kOwnedJob:
        CreateOwnedJob(operation);
        break;
      case Happening::kOwnerReads:
        ChangeOwnerReads(operation);
        break;
      case Happening::kLie:
        Lie(operation);
        break;
      case Happening::kMixedGang:
      case Happening::kForeignGang:
      case Happening::kDoomedGang:
        CreateOddGang(operation);
        break;
      case Happening::kBudget:
        ChangeBudget(operation);
        break;
      case Happening::kCollect:
        Collect(operation);
        break;
      case Happening::kResize:
        Resize(operation);
        break;
      case Happening::kDieEarly:
        DieEarly(operation);
        break;
      case Happening::kDeletePod:
      case Happening::kRecreatePod:
      case Happening::kDeleteGang:
        Remove(operation);
        break;
      case Happening::kDeleteGroup:
      case Happening::kRecreateGroup:
      case Happening::kChangeMinimum:
        ChangeGroup(operation);
        break;
      case Happening::kAddNode:
      case Happening::kDeleteNode:
      case Happening::kRecreateNode:
      case Happening::kNodeReady:
      case Happening::kCordon:
      case Happening::kTurnDown:
        ChangeNodes(operation);
        break;
      case Happening::kChangeGpus:
        ChangeGpus(operation);
        break;
      case Happening::kWait: {
        const int64_t most = operation.b % 4 == 0 ? 120'000 : 3'000;
        const Duration time(static_cast<int64_t>(operation.a) % most);
        Tell("wait " + std::to_string(time.value()) + " ms");
        Run(time);
        break;
      }
      case Happening::kFilterAgain:
        broken = FilterAgain(operation);
        break;
      case Happening::kBindAgain:
        BindAgain(operation);
        break;
      case Happening::kOldNews:
        OldNews(operation);
        break;
      case Happening::kOrder:
        Order(operation);
        break;
      case Happening::kMeanwhile:
        Tell("while the next plan is made, " + std::to_string(operation.a % 4));
        meddling_ = operation;
        break;
      case Happening::kRestartMuster:
      case Happening::kRestartScheduler:
      case Happening::kFaults:
        RestartOrFail(operation);
        break;
    }
  }
  if (told_ == before) Tell("(nothing there for it)");
  Run(Duration(operation.c % 10));
  if (broken.empty()) broken = CheckRebuild();
  if (broken.empty() && operation.c % 16 == 7) broken = CheckDecidedFacts();
  if (broken.empty()) broken = CheckRoom();
  if (broken.empty()) broken = CheckUnread();
  if (broken.empty()) broken = CheckPlans();
  if (broken.empty()) broken = CheckDomains();
  return broken.empty() ? Broken() : broken;
}

}  // namespace muster::sim::testing
