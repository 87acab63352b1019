#include "sim/world/cluster.hpp"

#include <utility>

#include "cluster/base/check.hpp"
#include "sim/api_server/random.hpp"
#include "sim/calls/direct_extender.hpp"
#include "sim/schedulers/hami_scheduler.hpp"

namespace muster::sim {

namespace {

// One seed for each part, so that asking one part for more numbers does not change another's.
Options Seeded(Options options) {
  Random seeds(options.seed);
  options.api.seed = seeds.Next();
  options.scheduler.seed = seeds.Next();
  options.kubelet.seed = seeds.Next();
  options.muster.seed = seeds.Next();
  if (!options.with_muster) {
    options.scheduler.gpu_count =
        options.shared_by == SharedBy::kHami ? GpuCount::kNothing : GpuCount::kEvery;
  }
  return options;
}

}  // namespace

Cluster::Cluster(Options options) : Cluster(Ready{}, Seeded(std::move(options))) {}

// Muster receives an event before kube-scheduler does, at the same moment: what comes first here is
// woken first.
Cluster::Cluster(Ready /*unused*/, const Options& options)
    : loop_(options.start), api_(loop_, options.api) {
  if (options.with_muster) {
    muster_ = std::make_unique<MusterLink>(loop_, api_, options.muster);
    extender_ = options.extender ? options.extender(loop_, *muster_)
                                 : std::make_unique<DirectExtender>(loop_, *muster_);
  } else if (options.shared_by == SharedBy::kHami) {
    extender_ = std::make_unique<HamiScheduler>(loop_, api_, options.scheduler.seed);
  }
  scheduler_ = std::make_unique<KubeScheduler>(loop_, api_, extender_.get(), options.scheduler);
  kubelet_ = std::make_unique<Kubelet>(loop_, api_, options.kubelet);
  jobs_ = std::make_unique<JobController>(loop_, api_);
  if (options.audit) {
    auditor_ = std::make_unique<Auditor>(loop_, api_, muster_.get(), options.auditor);
    loop_.SetAfterEvent([this] { auditor_->Check(); });
  }
}

Cluster::~Cluster() = default;

void Cluster::AddNodes(const std::string& prefix, int64_t count, const cluster::Node& node) {
  const size_t digits = std::to_string(count - 1).size();
  for (int64_t i = 0; i < count; ++i) {
    std::string number = std::to_string(i);
    number.insert(0, digits - number.size(), '0');
    cluster::Node one = node;
    one.name = std::string(prefix).append("-").append(number);
    MUSTER_CHECK(api_.CreateNode(Actor::kUser, std::move(one)).ok());
  }
}

cluster::Node GpuNode(int gpus, const std::string& model) {
  constexpr int64_t kGpuMemory = 81'559;
  cluster::Node node;
  node.allocatable = {cluster::MilliCpu(96'000), cluster::MiB(1024 * 1024), 110};
  for (int i = 0; i < gpus; ++i) {
    cluster::Gpu gpu;
    gpu.index = {static_cast<uint16_t>(i)};
    gpu.model = model;
    gpu.memory = cluster::MiB(kGpuMemory);
    node.gpus.push_back(gpu);
  }
  return node;
}

}  // namespace muster::sim
