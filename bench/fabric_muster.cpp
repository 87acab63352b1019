// Muster's Placer with the records of a whole cluster, as engine/ uses it.
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "bench/fabric_rules.hpp"
#include "cluster/base/check.hpp"
#include "cluster/holdings/cluster_state.hpp"

namespace muster::bench {
namespace {

using cluster::MiB;
using cluster::MilliCpu;
using cluster::NodeIndex;
using policy::Demand;
using policy::PlaceAnswer;
using policy::Placer;

constexpr int64_t kCpuOfGpu = 12'000;      // of 128,000 of a node with eight
constexpr int64_t kMemoryOfGpu = 100'000;  // MiB of 1 Mi

class MusterRule final : public Rule {
 public:
  MusterRule(const Setting& setting, const policy::Options& options, PairedTimes* times)
      : setting_(setting),
        placer_(options),
        blind_(policy::Options{options.strategy}),
        times_(times) {
    index_of_.resize(setting.by_name.size());
    for (size_t i = 0; i < setting.by_name.size(); ++i) AddNode(i, setting.by_name[i]);
  }

  Places Place(const Job& job) override {
    const std::vector<Demand> demands = Ask(job);
    const auto snapshot = state_.TakeSnapshot();
    const bool timed = times_ != nullptr && (job.members > 1 || times_->singles);
    const auto plan = [&](Placer& placer, Times& times) {
      const Stopwatch watch;
      cluster::Transaction tx(snapshot);
      PlaceAnswer answer = placer.PlaceGang(tx, demands, policy::NodeFilter::kSchedulable);
      watch.AddTo(times);
      return answer;
    };
    Times unused;
    blind_first_ = !blind_first_;
    if (timed && blind_first_) plan(blind_, times_->without);
    const PlaceAnswer answer = plan(placer_, timed ? times_->with : unused);
    if (timed && !blind_first_) plan(blind_, times_->without);
    if (!answer.placed) {
      Leave(job);
      return {};
    }
    MUSTER_CHECK(state_.Reserve(answer.placements).ok());
    Places places;
    places.reserve(answer.placements.size());
    for (const cluster::Placement& one : answer.placements)
      places.push_back(setting_.by_name[one.node.value]);
    return places;
  }

  void Settle(const Job& job, int node) override {
    ++comings_[job.id];
    cluster::Pod pod = NewPod(job, 0, SpecOf(job));
    pod.node_name = state_.node(NodeIndex{index_of_[static_cast<size_t>(node)]})->name;
    state_.Upsert(std::move(pod));
  }

  void Leave(const Job& job) override {
    for (int i = 0; i < job.members; ++i) state_.Remove(UidOf(job, i));
  }

 private:
  cluster::PodUid UidOf(const Job& job, int member) const {
    return cluster::PodUid("job-" + std::to_string(job.id) + "-" +
                           std::to_string(comings_.at(job.id)) + "-" + std::to_string(member));
  }

  static std::shared_ptr<const cluster::PodSpec> SpecOf(const Job& job) {
    cluster::PodSpec spec;
    spec.requests = {MilliCpu(kCpuOfGpu * job.gpus), MiB(kMemoryOfGpu * job.gpus), 1};
    spec.gpus.count = job.gpus;
    return std::make_shared<const cluster::PodSpec>(std::move(spec));
  }

  cluster::Pod NewPod(const Job& job, int member,
                      std::shared_ptr<const cluster::PodSpec> spec) const {
    cluster::Pod pod;
    pod.uid = UidOf(job, member);
    pod.key = {"bench", pod.uid.text()};
    pod.spec = std::move(spec);
    return pod;
  }

  void AddNode(size_t i, int place) {
    const Site& site = setting_.ledger.site();
    cluster::Node node;
    std::string number = std::to_string(i);
    number.insert(0, 5 - number.size(), '0');
    node.name = "node-" + number;
    node.uid = cluster::NodeUid(node.name);
    node.allocatable = {MilliCpu(128'000), MiB(1 << 20), 110};
    const auto label = [&](const char* key, Level level) {
      node.labels[key] = key + std::to_string(site.DomainOf(level, place));
    };
    label("zone", Level::kZone);
    label("block", Level::kBlock);
    label("rack", Level::kRack);
    label("nvlink", Level::kNvlink);
    node.labels["host"] = node.name;
    node.gpus.resize(kGpusPerNode);
    for (uint16_t gpu = 0; gpu < kGpusPerNode; ++gpu) node.gpus[gpu].index.value = gpu;
    state_.Upsert(std::move(node));
    index_of_[static_cast<size_t>(place)] = static_cast<uint32_t>(i);
    MUSTER_CHECK(state_.IndexOf("node-" + number).value == i);
  }

  std::vector<Demand> Ask(const Job& job) {
    ++comings_[job.id];
    const auto spec = SpecOf(job);
    std::vector<Demand> demands;
    demands.reserve(static_cast<size_t>(job.members));
    for (int i = 0; i < job.members; ++i) {
      cluster::Pod pod = NewPod(job, i, spec);
      demands.push_back({pod.uid, spec, {}, {}, static_cast<uint32_t>(i)});
      state_.Upsert(std::move(pod));
    }
    return demands;
  }

  const Setting setting_;
  cluster::ClusterState state_;
  std::vector<uint32_t> index_of_;  // by place
  std::map<int, int> comings_;      // of a job; UIDs that were removed do not come back
  Placer placer_;
  Placer blind_;
  bool blind_first_ = false;
  PairedTimes* const times_;
};

}  // namespace

policy::Options FabricOf(bool host) {
  std::vector<topology::FabricLevel> levels;
  levels.reserve(5);
  for (const char* name : {"zone", "block", "rack", "nvlink"}) levels.push_back({name, {name}});
  if (host) levels.push_back({"host", {"host"}});
  policy::Options options;
  options.fabric.trees.push_back({"site", topology::FabricPreset::kNone, std::move(levels)});
  return options;
}

std::unique_ptr<Rule> MakeMuster(const Setting& setting, const policy::Options& options,
                                 PairedTimes* times) {
  return std::make_unique<MusterRule>(setting, options, times);
}

}  // namespace muster::bench
