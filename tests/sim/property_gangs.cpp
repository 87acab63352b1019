// The gangs and pods of a World: how they come, and how pods succeed.
#include <algorithm>

#include "property_world.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {

using cluster::Duration;

// Where a gang wants to be: most of those in a world with a fabric say so.
cluster::TopologyTerms World::TermsOf(const Operation& operation, int64_t minimum) const {
  if (options_.muster.engine.placement.fabric.trees.empty()) return {};
  cluster::TopologyTerms terms;
  switch (operation.b / 16 % 8) {
    case 0:
    case 1:
      terms.required = "rack";
      break;
    case 2:
      terms.required = "block";
      terms.preferred = "rack";
      break;
    case 3:
      terms.segments = {{"rack", minimum % 2 == 0 ? 2 : 1, true}};
      break;
    default:
      break;
  }
  if (operation.c / 1000 % 4 == 0) terms.balance = cluster::Balance::kPack;
  if (operation.c / 4000 % 3 == 0) {
    terms.spread = operation.b % 2 == 0 ? "rack" : "block";
    terms.spread_group = "service" + std::to_string(operation.c / 12000 % 2);
  }
  if (operation.c / 24000 % 3 == 0 && terms.segments.empty())
    terms.subgroups = {{"even", {"even"}, "rack"}, {"odd", {"odd"}, "", "rack"}};
  return terms;
}

PodRecord World::NewPod(const std::string& name, uint32_t kind) {
  muster::testing::PodBuilder pod = MakePod(name);
  constexpr int32_t kCounts[] = {1, 1, 2, 4, 8, 0, 3};
  const int32_t count = kCounts[kind % 7];
  if (kind % 11 == 0) {
    pod.GpuShare(300, 1);
  } else {
    pod.Gpus(count);
  }
  pod.MilliCpu(kind % 13 == 0 ? 9000 : 500).Priority(static_cast<int32_t>(kind % 3));
  pod.Scheduler(kind % 17 == 0 ? "default-scheduler" : "muster");
  AddConditions(pod, kind);
  PodRecord record;
  record.pod = pod;
  AddClaim(record, kind);
  constexpr const char* kQueues[] = {"a", "b", "c"};
  record.pod.asked_queue = kQueues[kind / 3 % 3];
  if (kind % 19 == 0) record.pod.preemptible = kind % 2 == 0;
  record.pod.grace = Seconds(kind % 2 == 0 ? 0 : 5);
  if (kind % 4 != 0) record.runs_for = Seconds(5 + kind % 300);
  // What they say of it is right, half of it, or nothing.
  if (record.runs_for && kind % 3 != 0) {
    record.pod.run_times = std::make_shared<const cluster::RunTimes>(cluster::RunTimes{
        .declared = kind % 3 == 1 ? *record.runs_for : Duration(record.runs_for->value() / 2 + 1),
        .checkpoints = kind % 5 == 0});
  }
  return record;
}

void World::CreateGang(const Operation& operation) {
  ApiServer& api = cluster_->api();
  const bool solo = operation.what == Happening::kSolo;
  const int64_t members = solo ? 1 : 1 + operation.a % 6;
  const std::string name = (solo ? "solo" : "gang") + std::to_string(made_++);
  if (!solo) {
    // Most are asked for whole, some with surplus, a few with more than there are.
    const int64_t minimum =
        operation.b % 5 == 0 ? members - 1 : (operation.b % 23 == 0 ? members + 1 : members);
    cluster::PodGroup group = MakePodGroup(name).MinMember(minimum);
    // Some need pods of each role, a few more of one than there are.
    if (operation.b % 4 == 1) {
      const int64_t odd = operation.b % 28 == 1 ? members : members / 2;
      group.roles = {{"even", std::min<int64_t>(1, minimum - odd)}, {"odd", odd}};
    }
    group.topology = TermsOf(operation, minimum);
    group.gates_together = operation.b % 7 < 3;
    // Some say what their pods count for, and some go whole.
    if (operation.a % 4 == 3) group.priority.value = static_cast<int32_t>(operation.a / 4 % 4);
    if (operation.b % 11 == 2) group.priority.preempts = false;
    group.disrupted_whole = operation.b % 6 == 5;
    static_cast<void>(api.CreatePodGroup(Actor::kUser, group));
    Tell("gang " + name + " of " + std::to_string(members) + ", minMember " +
         std::to_string(minimum) + (group.roles.empty() ? "" : " with roles") +
         (group.gates_together ? ", gates together" : "") +
         (group.priority.value ? ", priority " + std::to_string(*group.priority.value) : "") +
         (group.disrupted_whole ? ", goes whole" : "") +
         (group.topology.none() ? "" : ", level " + group.topology.required) +
         (group.topology.balance == cluster::Balance::kPack ? ", packed" : "") +
         (group.topology.spread.empty() ? "" : ", spread over " + group.topology.spread) +
         (group.topology.subgroups.empty() ? "" : ", even ones in a rack") + ", kind " +
         std::to_string(operation.c % 1000));
  } else {
    Tell("pod " + name + ", kind " + std::to_string(operation.c % 1000));
  }
  for (int64_t i = 0; i < members; ++i) {
    PodRecord pod = NewPod(solo ? name : name + "-" + std::to_string(i), operation.c % 1000);
    if (!solo) PutInGroup(pod, name);
    if (!solo) pod.pod.role = i % 2 == 0 ? "even" : "odd";
    const Duration late(operation.b % 3 == 0 ? static_cast<int64_t>(operation.b % 4000) * i : 0);
    cluster_->loop().Post(cluster_->loop().now() + late, [&api, pod = std::move(pod)] {
      static_cast<void>(api.CreatePod(Actor::kUser, pod));
    });
  }
}

void World::CreateJob(const Operation& operation) {
  JobRecord job;
  job.key = Key("job" + std::to_string(made_++));
  job.parallelism = job.completions = 1 + operation.a % 5;
  job.backoff_limit = operation.b % 4;
  job.pod = NewPod("template", operation.c % 1000);
  PutInGroup(job.pod, job.key.name);
  // Lost pods of a Job come back, so members are replaced in their domain, and moved.
  cluster::PodGroup group = MakePodGroup(job.key.name).MinMember(job.completions);
  group.topology = TermsOf(operation, job.completions);
  group.topology.subgroups.clear();  // its pods have no roles
  Tell("job " + job.key.name + " of " + std::to_string(job.completions) +
       (group.topology.none() ? "" : ", level " + group.topology.required) +
       (group.topology.segments.empty() ? "" : ", in segments") + ", kind " +
       std::to_string(operation.c % 1000));
  static_cast<void>(cluster_->api().CreatePodGroup(Actor::kUser, group));
  static_cast<void>(cluster_->api().CreateJob(Actor::kUser, std::move(job)));
}

// Of three pods, the last of which is not kube-scheduler's to bind; or none is.
void World::CreateOddGang(const Operation& operation) {
  ApiServer& api = cluster_->api();
  const bool doomed = operation.what == Happening::kDoomedGang;
  const bool foreign = operation.what == Happening::kForeignGang;
  const std::string name = (doomed ? "doomed" : "odd") + std::to_string(made_++);
  Tell(std::string(doomed ? "doomed" : (foreign ? "foreign" : "mixed")) + " gang " + name);
  static_cast<void>(api.CreatePodGroup(
      Actor::kUser, MakePodGroup(name).MinMember(3).TimeoutSeconds(doomed ? 2'147'483'647 : 0)));
  for (int i = 0; i < 3; ++i) {
    PodRecord pod = NewPod(name + "-" + std::to_string(i), operation.c % 1000);
    PutInGroup(pod, name);
    if (i == 2 || foreign) {
      cluster::PodSpec spec = *pod.pod.spec;
      spec.scheduler_name = doomed ? kNobody : kOther;
      spec.gpus = {};
      pod.pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    }
    const NodePtr node = PickNode(operation.a);
    const bool placed = i == 2 && !doomed && node != nullptr && operation.b % 3 != 0;
    const Duration late(placed ? operation.b % 5000 : 0);
    if (placed) pod.pod.node_name = node->node.name;
    cluster_->loop().Post(cluster_->loop().now() + late, [&api, pod = std::move(pod)] {
      static_cast<void>(api.CreatePod(Actor::kUser, pod));
    });
  }
}

void World::Collect(const Operation& operation) {
  ApiServer& api = cluster_->api();
  const PodPtr pod = PickPod(operation.a);
  if (pod == nullptr || pod->pod.phase != cluster::PodPhase::kRunning || pod->pod.deleting) return;
  Tell("pod " + pod->pod.key.name + " succeeds and is collected");
  changed_.insert(pod->pod.pod_group);
  PodStatusPatch patch;
  patch.phase = cluster::PodPhase::kSucceeded;
  static_cast<void>(api.PatchPodStatus(Actor::kKubelet, RefOf(pod), patch));
  cluster_->loop().Post(cluster_->loop().now() + Duration(operation.b % 3 == 0 ? 4000 : 0),
                        [&api, ref = RefOf(pod)] {
                          static_cast<void>(api.DeletePod(Actor::kUser, ref, Duration()));
                        });
}

// Less or more than it has, than is free beside it, and than its node has.
void World::Resize(const Operation& operation) {
  ApiServer& api = cluster_->api();
  std::vector<PodPtr> running = api.Pods();
  std::erase_if(running, [](const PodPtr& pod) {
    return pod->pod.phase != cluster::PodPhase::kRunning || pod->pod.deleting;
  });
  if (running.empty()) return;
  const PodPtr& pod = running[operation.a % running.size()];
  constexpr int64_t kCpu[] = {100, 500, 1'000, 4'000, 9'000, 15'000, 17'000};
  constexpr int64_t kMemory[] = {0, 0, 0, 100, 500, 1'000, 2'000};
  const cluster::MilliCpu cpu(kCpu[operation.b % 7]);
  const cluster::MiB memory(kMemory[operation.c % 7] * 1024);
  Tell("pod " + pod->pod.key.name + " is resized to " + std::to_string(cpu.value()) +
       " milli-CPU and " + std::to_string(memory.value()) + " MiB");
  static_cast<void>(api.ResizePod(Actor::kUser, RefOf(pod), cpu, memory));
}

// A pod of queue a that asks for so many GPUs and runs for minutes.
PodRecord World::LongPod(const std::string& name, int32_t gpus, int32_t priority) {
  PodRecord pod = NewPod(name, 1);
  cluster::PodSpec spec = *pod.pod.spec;
  spec.gpus.count = gpus;
  spec.priority = priority;
  pod.pod.spec = std::make_shared<const cluster::PodSpec>(spec);
  pod.pod.asked_queue = "a";
  pod.pod.run_times = nullptr;
  pod.runs_for = Seconds(400);
  return pod;
}

// Pods fill the nodes, and a gang comes for which some of them have to go.
void World::CreateClaim() {
  ApiServer& api = cluster_->api();
  const std::string name = "claim" + std::to_string(made_++);
  for (const NodePtr& node : api.Nodes()) {
    const auto gpus = static_cast<int32_t>(node->node.gpus.size());
    if (gpus == 0) continue;
    static_cast<void>(
        api.CreatePod(Actor::kUser, LongPod("fill" + std::to_string(made_++), gpus, 0)));
  }
  Run(Seconds(10));
  static_cast<void>(api.CreatePodGroup(Actor::kUser, MakePodGroup(name).MinMember(2)));
  for (int i = 0; i < 2; ++i) {
    PodRecord pod = LongPod(name + "-" + std::to_string(i), 1, 5);
    PutInGroup(pod, name);
    static_cast<void>(api.CreatePod(Actor::kUser, std::move(pod)));
  }
  Run(Seconds(20));
}

// A gang for which others were evicted; the first of them is made.
void World::DieEarly(const Operation& operation) {
  if (options_.muster.engine.queues.empty()) return;
  const auto paid = [&] {
    std::vector<engine::GangView> gangs = cluster_->muster()->scheduler().Gangs();
    std::erase_if(gangs, [](const engine::GangView& gang) {
      return !gang.certificate || gang.state != engine::GangState::kRunning || gang.id.solo;
    });
    return gangs;
  };
  if (paid().empty()) {
    Tell("pods fill the nodes, and a gang comes for which they have to go");
    CreateClaim();
  }
  const std::vector<engine::GangView> gangs = paid();
  if (!gangs.empty()) FailGang(gangs[operation.a % gangs.size()], operation);
}

// All of its pods fail, and half of the gangs come back, under other names.
void World::FailGang(const engine::GangView& gang, const Operation& operation) {
  ApiServer& api = cluster_->api();
  const std::string& name = gang.id.key.name;
  const bool comes_back = operation.b % 2 == 0 && api.FindPodGroup(gang.id.key) != nullptr;
  Tell("all pods of gang " + name + " fail" + (comes_back ? ", and it comes back" : ""));
  changed_.insert(name);
  for (const engine::MemberView& member : gang.members) {
    const PodPtr pod = api.FindPod(member.uid);
    if (pod == nullptr || pod->pod.phase != cluster::PodPhase::kRunning) continue;
    PodStatusPatch patch;
    patch.phase = cluster::PodPhase::kFailed;
    static_cast<void>(api.PatchPodStatus(Actor::kKubelet, RefOf(pod), patch));
    // A Job's are replaced by its controller.
    if (!comes_back || !pod->job_uid.empty()) continue;
    PodRecord next = NewPod(name + "-again" + std::to_string(made_++), 1);
    cluster::PodSpec spec = *pod->pod.spec;
    spec.requests = next.pod.spec->requests;  // its owner's template is not resized
    next.pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
    PutInGroup(next, name);
    next.pod.role = pod->pod.role;
    next.pod.asked_queue = pod->pod.asked_queue;
    next.pod.preemptible = pod->pod.preemptible;
    const Duration late(operation.c % (operation.c % 3 == 0 ? 90'000 : 1000));
    cluster_->loop().Post(cluster_->loop().now() + late, [&api, ref = RefOf(pod), next] {
      static_cast<void>(api.DeletePod(Actor::kUser, ref, Duration()));
      static_cast<void>(api.CreatePod(Actor::kUser, next));
    });
  }
}

void World::CreateForeignPod(const Operation& operation) {
  const NodePtr node = PickNode(operation.a);
  if (node == nullptr) return;
  PodRecord pod = NewPod("foreign" + std::to_string(made_++), operation.b % 1000);
  cluster::PodSpec spec = *pod.pod.spec;
  spec.scheduler_name = kOther;
  pod.pod.spec = std::make_shared<const cluster::PodSpec>(spec);
  pod.pod.node_name = node->node.name;
  Tell("pod " + pod.pod.key.name + " of another scheduler on " + node->node.name + ", kind " +
       std::to_string(operation.b % 1000));
  static_cast<void>(cluster_->api().CreatePod(Actor::kUser, std::move(pod)));
}

// As anybody may who may patch PodGroups and pods, where no admission policy keeps him off. That it
// was evicted for good is left out: so a gang keeps itself from starting, and nobody else.
void World::Lie(const Operation& operation) {
  cluster::GangRecord record;
  record.has_run = operation.b % 8 != 0;
  const Time now = cluster_->loop().now();
  const Time times[] = {Time(), now, now + Seconds(3'600), now + Seconds(100'000'000)};
  if (operation.b / 8 % 4 != 0) record.started = times[operation.b / 32 % 4];
  record.lost_since = times[operation.b / 128 % 4];
  const auto count = [&](uint32_t from) {
    const auto members = static_cast<int64_t>(from % 12);
    return cluster::Headcount{members, from / 16 % 2 == 0
                                           ? std::map<std::string, int64_t>{}
                                           : std::map<std::string, int64_t>{{"worker", members}}};
  };
  record.whole = count(operation.c);
  record.ended = count(operation.c / 32);
  record.lost = count(operation.c / 1024);
  if (operation.c / 32768 % 4 == 0) record.owners = {cluster::kAnyOwner};
  if (operation.c / 32768 % 4 == 1) record.owners = {"deadbeef"};
  const PodGroupPtr group = PickGroup(operation.a / 2);
  const PodPtr pod = PickPod(operation.a / 2);
  if (operation.a % 2 == 0 && group != nullptr) {
    Tell("somebody writes another past of gang " + group->group.key.name);
    const PodGroupRecord& is = *group;
    engine::PatchGang patch{is.group.key, is.group.uid, is.state, is.reason, is.message};
    patch.bound = is.bound;
    patch.succeeded = is.succeeded;
    patch.failed = is.failed;
    patch.record = record;
    Doubt(is.group.key.name);
    cluster_->auditor()->Doubt(is.group.key);
    static_cast<void>(cluster_->api().PatchPodGroupStatus(Actor::kUser, patch));
  } else if (pod != nullptr) {
    Tell("somebody writes another past on pod " + pod->pod.key.name);
    const std::string& name = pod->pod.key.name;
    Doubt(!pod->pod.pod_group.empty() ? pod->pod.pod_group
                                      : "job:" + name.substr(0, name.find('-')));
    cluster_->auditor()->Doubt(*pod);
    static_cast<void>(cluster_->api().RecordPod(Actor::kUser, RefOf(pod), record));
  }
}

// What operators order. No priorities: one that is ordered is not seen in the pods, by which the
// auditor judges who outranks whom.
void World::Order(const Operation& operation) {
  constexpr const char* kQueues[] = {"top", "a", "b", "c", "root"};
  const std::string queue = kQueues[operation.b % 5];
  const PodGroupPtr group = PickGroup(operation.b);
  engine::Order order{"ann", engine::SetQueueState{queue, queues::QueueState::kOpen}};
  std::string what = "resume " + queue;
  const uint32_t kind = operation.a % 8;
  if (kind < 2) {
    const bool drains = kind == 1;
    order.what = engine::SetQueueState{
        queue, drains ? queues::QueueState::kDrain : queues::QueueState::kHold};
    what = (drains ? "drain " : "hold ") + queue;
  } else if (kind < 4) {
    const auto gpus = static_cast<int64_t>(1 + operation.c % 9);
    order.what = engine::ReclaimGpus{queue, gpus, Seconds(1 + operation.c % 100)};
    what = "reclaim " + std::to_string(gpus) + " GPUs of " + queue;
  } else if (kind == 4 && group != nullptr) {
    order.what = engine::CancelPlan{group->group.key};
    what = "cancel " + group->group.key.name;
  }
  const auto effect = cluster_->muster()->scheduler().Carry(order, cluster_->loop().now());
  const bool reclaims = std::holds_alternative<engine::ReclaimGpus>(order.what);
  if (effect.ok() && reclaims)
    reclaimed_ = cluster_->loop().now() + options_.muster.engine.victim_timeout;
  cluster_->muster()->Kick();
  Tell("ann orders: " + what + (effect.ok() ? "" : " (refused: " + effect.error().message + ")"));
}

}  // namespace muster::sim::testing
