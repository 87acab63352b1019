#include "tests/support/builders.hpp"

#include <algorithm>
#include <memory>

namespace muster::testing {
namespace {

cluster::GpuIndex Gpu(int index) { return cluster::GpuIndex{static_cast<uint16_t>(index)}; }

}  // namespace

NodeBuilder::NodeBuilder(const std::string& name) {
  node_.uid = cluster::NodeUid("node-" + name);
  node_.name = name;
  node_.labels["kubernetes.io/hostname"] = name;
  Cpu(64).MemoryGiB(512).PodSlots(110);
}

NodeBuilder& NodeBuilder::Uid(const std::string& uid) {
  node_.uid = cluster::NodeUid(uid);
  return *this;
}

NodeBuilder& NodeBuilder::Cpu(int64_t cores) { return MilliCpu(cores * 1000); }

NodeBuilder& NodeBuilder::MilliCpu(int64_t milli) {
  node_.allocatable.cpu = cluster::MilliCpu(milli);
  return *this;
}

NodeBuilder& NodeBuilder::MemoryGiB(int64_t gib) { return MemoryMiB(gib * 1024); }

NodeBuilder& NodeBuilder::MemoryMiB(int64_t mib) {
  node_.allocatable.memory = cluster::MiB(mib);
  return *this;
}

NodeBuilder& NodeBuilder::PodSlots(int64_t pods) {
  node_.allocatable.pods = pods;
  return *this;
}

NodeBuilder& NodeBuilder::Gpus(int count, const std::string& model, int64_t memory_mib) {
  node_.gpus.clear();
  for (int i = 0; i < count; ++i) {
    cluster::Gpu gpu;
    gpu.index = Gpu(i);
    gpu.uuid = "GPU-" + node_.name + "-" + std::to_string(i);
    gpu.model = model;
    gpu.memory = cluster::MiB(memory_mib);
    node_.gpus.push_back(gpu);
  }
  return *this;
}

NodeBuilder& NodeBuilder::Sharing(cluster::GpuSharing sharing, int32_t replicas) {
  for (cluster::Gpu& gpu : node_.gpus) {
    gpu.sharing = sharing;
    gpu.replicas = replicas;
  }
  return *this;
}

NodeBuilder& NodeBuilder::Unhealthy(int gpu) {
  for (cluster::Gpu& device : node_.gpus) {
    if (device.index == Gpu(gpu)) device.healthy = false;
  }
  return *this;
}

NodeBuilder& NodeBuilder::CordonedGpu(int gpu) {
  for (cluster::Gpu& device : node_.gpus) {
    if (device.index == Gpu(gpu)) device.cordoned = true;
  }
  return *this;
}

NodeBuilder& NodeBuilder::Label(const std::string& key, const std::string& value) {
  node_.labels[key] = value;
  return *this;
}

NodeBuilder& NodeBuilder::Taint(const std::string& key, const std::string& value,
                                cluster::TaintEffect effect) {
  node_.taints.push_back({key, value, effect});
  return *this;
}

NodeBuilder& NodeBuilder::Cordoned() {
  node_.unschedulable = true;
  return *this;
}

NodeBuilder& NodeBuilder::NotReady() {
  node_.ready = false;
  return *this;
}

PodBuilder::PodBuilder(const std::string& name) {
  pod_.uid = cluster::PodUid("pod-" + name);
  pod_.key = {"default", name};
  spec_.requests = {cluster::MilliCpu(1000), cluster::MiB(1024), 1};
  spec_.scheduler_name = "muster";
}

PodBuilder& PodBuilder::Uid(const std::string& uid) {
  pod_.uid = cluster::PodUid(uid);
  return *this;
}

PodBuilder& PodBuilder::Namespace(const std::string& ns) {
  pod_.key.ns = ns;
  return *this;
}

PodBuilder& PodBuilder::MilliCpu(int64_t milli) {
  spec_.requests.cpu = cluster::MilliCpu(milli);
  return *this;
}

PodBuilder& PodBuilder::MemoryMiB(int64_t mib) {
  spec_.requests.memory = cluster::MiB(mib);
  return *this;
}

PodBuilder& PodBuilder::Gpus(int32_t count) {
  spec_.gpus = {count, cluster::kWholeGpu, cluster::MiB()};
  return *this;
}

PodBuilder& PodBuilder::GpuShare(int64_t milli, int32_t count, int64_t memory_mib) {
  spec_.gpus = {count, cluster::GpuMilli(milli), cluster::MiB(memory_mib)};
  return *this;
}

PodBuilder& PodBuilder::GpuParts(int64_t compute_milli, int64_t memory_milli, int32_t count) {
  spec_.gpus = {
      count, {cluster::GpuMilli(compute_milli), cluster::GpuMilli(memory_milli)}, cluster::MiB()};
  return *this;
}

NodeBuilder& NodeBuilder::Offers(const std::string& resource, int64_t amount) {
  node_.allocatable.named.Set(resource, amount);
  return *this;
}

PodBuilder& PodBuilder::Wants(const std::string& resource, int64_t amount) {
  spec_.requests.named.Set(resource, amount);
  return *this;
}

PodBuilder& PodBuilder::Label(const std::string& key, const std::string& value) {
  cluster::Labels labels;
  for (const auto& label : pod_.labels.list()) labels.insert(*label);
  labels[key] = value;
  pod_.labels = cluster::PodLabels(labels);
  return *this;
}

PodBuilder& PodBuilder::Rules(const cluster::PodRules& rules) {
  spec_.rules = rules;
  return *this;
}

PodBuilder& PodBuilder::Channel() {
  spec_.requests.channels = 1;
  return *this;
}

PodBuilder& PodBuilder::Unplanned(const std::string& devices) {
  spec_.unplanned_devices = devices;
  return *this;
}

PodBuilder& PodBuilder::Within(const std::string& required, const std::string& preferred) {
  spec_.topology = {required, preferred};
  return *this;
}
PodBuilder& PodBuilder::Priority(int32_t priority) {
  spec_.priority = priority;
  return *this;
}

PodBuilder& PodBuilder::Select(const std::string& label, const std::string& value) {
  spec_.constraints.node_selector[label] = value;
  return *this;
}

PodBuilder& PodBuilder::Tolerate(const cluster::Toleration& toleration) {
  spec_.constraints.tolerations.push_back(toleration);
  return *this;
}

PodBuilder& PodBuilder::Constraints(const cluster::NodeConstraints& constraints) {
  spec_.constraints = constraints;
  return *this;
}

PodBuilder& PodBuilder::Scheduler(const std::string& name) {
  spec_.scheduler_name = name;
  return *this;
}

PodBuilder& PodBuilder::Queue(const std::string& queue) {
  pod_.queue = queue;
  pod_.asked_queue = queue;
  return *this;
}

PodBuilder& PodBuilder::InGroup(const std::string& group) {
  pod_.pod_group = group;
  return *this;
}

PodBuilder& PodBuilder::Role(const std::string& role) {
  pod_.role = role;
  return *this;
}

PodBuilder& PodBuilder::Owner(const std::string& owner_uid) {
  pod_.owner_uid = owner_uid;
  return *this;
}

PodBuilder& PodBuilder::Index(int32_t index, int32_t job_index) {
  pod_.index = index;
  pod_.job_index = job_index;
  return *this;
}

PodBuilder& PodBuilder::Daemon() {
  pod_.daemon = true;
  return *this;
}

PodBuilder& PodBuilder::Gated(const std::string& gate) {
  pod_.gates.push_back(gate);
  return *this;
}

PodBuilder& PodBuilder::Phase(cluster::PodPhase phase) {
  pod_.phase = phase;
  return *this;
}

PodBuilder& PodBuilder::Deleting() {
  pod_.deleting = true;
  return *this;
}

PodBuilder& PodBuilder::Nominated(const std::string& node) {
  pod_.nominated_node = node;
  return *this;
}

PodBuilder& PodBuilder::BoundTo(const std::string& node, const std::vector<int>& gpus) {
  pod_.node_name = node;
  pod_.bound_gpus.clear();
  for (int gpu : gpus) pod_.bound_gpus.push_back(Gpu(gpu));
  pod_.bound_by_muster = !gpus.empty();
  return *this;
}

PodBuilder& PodBuilder::CreatedAt(int64_t milliseconds) {
  pod_.created = cluster::Time(milliseconds);
  return *this;
}

PodBuilder& PodBuilder::Version(int64_t resource_version) {
  pod_.resource_version = resource_version;
  return *this;
}

PodBuilder& PodBuilder::Defect(const std::string& defect) {
  pod_.defect = defect;
  return *this;
}

cluster::Pod PodBuilder::Build() const {
  cluster::Pod pod = pod_;
  pod.spec = std::make_shared<const cluster::PodSpec>(spec_);
  return pod;
}

PodGroupBuilder::PodGroupBuilder(const std::string& name) {
  group_.uid = cluster::PodGroupUid("group-" + name);
  group_.key = {"default", name};
}

PodGroupBuilder& PodGroupBuilder::Uid(const std::string& uid) {
  group_.uid = cluster::PodGroupUid(uid);
  return *this;
}

PodGroupBuilder& PodGroupBuilder::Namespace(const std::string& ns) {
  group_.key.ns = ns;
  return *this;
}

PodGroupBuilder& PodGroupBuilder::MinMember(int64_t min_member) {
  group_.min_member = min_member;
  return *this;
}

PodGroupBuilder& PodGroupBuilder::Role(const std::string& name, int64_t min_member) {
  group_.roles.push_back({name, min_member});
  return *this;
}

PodGroupBuilder& PodGroupBuilder::Within(const std::string& required,
                                         const std::string& preferred) {
  group_.topology = {required, preferred};
  return *this;
}
PodGroupBuilder& PodGroupBuilder::TimeoutSeconds(int64_t seconds) {
  group_.schedule_timeout = cluster::Seconds(seconds);
  return *this;
}

PodGroupBuilder& PodGroupBuilder::CreatedAt(int64_t milliseconds) {
  group_.created = cluster::Time(milliseconds);
  return *this;
}

PodGroupBuilder& PodGroupBuilder::Version(int64_t resource_version) {
  group_.resource_version = resource_version;
  return *this;
}

PodGroupBuilder& PodGroupBuilder::Defect(const std::string& defect) {
  group_.defect = defect;
  return *this;
}

NodeBuilder MakeNode(const std::string& name) { return NodeBuilder(name); }
PodBuilder MakePod(const std::string& name) { return PodBuilder(name); }
PodGroupBuilder MakePodGroup(const std::string& name) { return PodGroupBuilder(name); }

cluster::Placement PlaceOn(const cluster::Pod& pod, const cluster::Node& node,
                           cluster::NodeIndex index, const std::vector<int>& gpus) {
  cluster::Placement placement{pod.uid, index, pod.spec->requests, {}};
  for (int gpu : gpus) {
    for (const cluster::Gpu& device : node.gpus) {
      if (device.index != Gpu(gpu)) continue;
      placement.gpus.push_back({device.index, cluster::ShareOn(device, pod.spec->gpus)});
    }
  }
  std::sort(placement.gpus.begin(), placement.gpus.end());
  return placement;
}

std::vector<cluster::DeviceAmount> Amounts(const std::vector<int>& milli) {
  std::vector<cluster::DeviceAmount> amounts;
  for (const int of_both : milli) amounts.emplace_back(cluster::GpuMilli(of_both));
  return amounts;
}

std::vector<int> Milli(std::span<const cluster::DeviceAmount> amounts) {
  std::vector<int> milli;
  for (const cluster::DeviceAmount& amount : amounts)
    milli.push_back(static_cast<int>(amount.least().value()));
  return milli;
}

}  // namespace muster::testing
