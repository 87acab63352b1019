#include "engine/machines/ever_fits.hpp"

#include <algorithm>
#include <utility>

#include "cluster/holdings/node_ledger.hpp"

namespace muster::engine {

using cluster::ClusterState;
using cluster::DeviceAmount;
using cluster::NodeIndex;
using cluster::Pod;
using cluster::Time;

namespace {

bool ToleratesEverything(const Pod& pod) {
  const auto& tolerations = pod.spec->constraints.tolerations;
  return std::any_of(tolerations.begin(), tolerations.end(), [](const cluster::Toleration& one) {
    return one.key.empty() && one.op == cluster::Toleration::Op::kExists && one.every_effect;
  });
}

bool HasGpuOutOfUse(const cluster::Node& node) {
  return std::any_of(node.gpus.begin(), node.gpus.end(),
                     [](const cluster::Gpu& gpu) { return !gpu.usable(); });
}

std::shared_ptr<const cluster::Node> Unmarked(cluster::Node node) {
  for (cluster::Gpu& gpu : node.gpus) {
    gpu.healthy = true;
    gpu.cordoned = false;
    gpu.left_out = false;
  }
  return std::make_shared<const cluster::Node>(std::move(node));
}

}  // namespace

bool EverFits::PermanentlyBound(const Pod& pod, const std::vector<std::string>& scheduler_names) {
  if (!pod.bound() || pod.terminal()) return false;
  if (pod.daemon) return true;
  const bool ours =
      pod.bound_by_muster || std::find(scheduler_names.begin(), scheduler_names.end(),
                                       pod.spec->scheduler_name) != scheduler_names.end();
  return !ours && ToleratesEverything(pod);
}

void EverFits::TouchRecord(NodeIndex node) {
  if (node.valid()) touched_[node.value] = true;
}

void EverFits::TouchPods(NodeIndex node) {
  if (node.valid()) touched_.try_emplace(node.value, false);
}

void EverFits::TouchAll(const ClusterState& state) {
  for (const cluster::Node* node : state.Nodes()) TouchRecord(state.IndexOf(node->name));
}

bool EverFits::Recount(const ClusterState& state, const std::vector<std::string>& scheduler_names,
                       NodeIndex index) {
  if (index.value >= room_.size()) room_.Resize(index.value + 1);
  cluster::Resources left;
  std::vector<DeviceAmount> gpus;
  unmarked_.erase(index.value);
  if (const cluster::Node* node = state.node(index)) {
    if (HasGpuOutOfUse(*node)) unmarked_[index.value] = Unmarked(*node);
    left = cluster::OfferOf(*node);
    gpus.assign(node->gpus.size(), DeviceAmount::All());
    for (const cluster::PodUid& uid : state.HoldersOn(index)) {
      if (!PermanentlyBound(*state.FindPod(uid), scheduler_names)) continue;
      const cluster::Placement& held = state.AllocationOf(uid)->placement;
      left -= held.requests;
      for (const cluster::GpuShare& share : held.gpus) {
        for (size_t i = 0; i < gpus.size(); ++i) {
          if (node->gpus[i].index != share.index) continue;
          gpus[i] = (gpus[i] - share.taken).AtLeast({});
        }
      }
    }
  }
  const cluster::Resources before = room_.at(index).resources;
  const std::vector<DeviceAmount> gpus_before(room_.gpus(index).begin(), room_.gpus(index).end());
  room_.Set(index, left, gpus);
  return before != room_.at(index).resources || gpus_before != gpus;
}

bool EverFits::Follow(const ClusterState& state, const std::vector<std::string>& scheduler_names,
                      Time now) {
  for (size_t i = 0; i < kSlice && !touched_.empty(); ++i) {
    const auto [index, record] = *touched_.begin();
    touched_.erase(touched_.begin());
    const bool changed = Recount(state, scheduler_names, NodeIndex{index});
    records_changed_ = records_changed_ || record;
    pods_changed_ = pods_changed_ || changed;
  }
  if (Behind()) return false;
  const bool again = std::exchange(refused_, false);
  if (!records_changed_ && due() > now) return again;
  forgotten_at_ = now;
  Forget();
  return true;
}

Time EverFits::due() const { return pods_changed_ ? forgotten_at_ + kEvery : Time::Never(); }

std::shared_ptr<const cluster::Snapshot> EverFits::Room(const cluster::Snapshot& now) {
  refused_ = refused_ || Behind();
  if (Behind() || room_.size() != now.size()) return nullptr;
  cluster::NodeTable nodes = now.nodes();
  for (const auto& [index, node] : unmarked_) nodes.Set(NodeIndex{index}, node);
  return std::make_shared<const cluster::Snapshot>(std::move(nodes), room_, now.generation(),
                                                   now.layout());
}

const Reason* EverFits::Never(const policy::RequestKey& request) const {
  const auto found = verdicts_.find(request);
  const bool never = found != verdicts_.end() && found->second.why.code != ReasonCode::kNone;
  return never ? &found->second.why : nullptr;
}

std::string EverFits::FitsIn(const policy::RequestKey& request) const {
  const auto found = verdicts_.find(request);
  return found == verdicts_.end() ? std::string() : found->second.fits_in;
}

bool EverFits::Asked(const policy::RequestKey& request) const {
  return verdicts_.contains(request);
}

void EverFits::Learn(const policy::RequestKey& request, uint64_t basis, Verdict verdict) {
  if (basis != basis_) return;
  if (verdicts_.size() >= kMostVerdicts) verdicts_.clear();
  verdicts_[request] = std::move(verdict);
}

void EverFits::Forget() {
  verdicts_.clear();
  records_changed_ = false;
  pods_changed_ = false;
  ++basis_;
}

}  // namespace muster::engine
