#include "sim/replay/left_over.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "cluster/holdings/cluster_state.hpp"
#include "cluster/records/selector.hpp"

namespace muster::sim {

using cluster::DeviceAmount;
using cluster::GpuMilli;
using cluster::Node;
using cluster::NodeIndex;
using cluster::Pod;
using cluster::PodSpec;

namespace {

// As whoever placed the pods counts them.
Pod Counted(const Pod& pod, bool whole_only) {
  Pod counted = pod;
  // The GPUs that are written down are those that it has, whoever has chosen them.
  counted.bound_by_muster = counted.bound_by_muster || !pod.bound_gpus.empty();
  if (whole_only && pod.spec->gpus.fractional()) {
    PodSpec spec = *pod.spec;
    spec.gpus.each = DeviceAmount::All();
    counted.spec = std::make_shared<const PodSpec>(std::move(spec));
  }
  return counted;
}

bool MayUse(const PodSpec& spec, const Node& node) {
  return node.schedulable() && MatchesNode(spec.constraints, node.name, node.labels) &&
         ToleratesAll(spec.constraints.tolerations, node.taints);
}

// What a node, or the nodes of a model, offer a pod.
struct Offer {
  OutCause cause = OutCause::kNoNode;
  GpuMilli free;
};

class Ending {
 public:
  Ending(const std::vector<Node>& nodes, const std::vector<PodPtr>& pods, bool whole_only)
      : nodes_(nodes) {
    for (const Node& node : nodes) state_.Upsert(node);
    for (const PodPtr& record : pods) {
      if (record->pod.bound() && !record->pod.terminal())
        state_.Upsert(Counted(record->pod, whole_only));
    }
    snapshot_ = state_.TakeSnapshot();
  }

  std::vector<ModelReport> Free() const {
    std::map<std::string, ModelReport> models;
    for (const Node& node : nodes_) {
      ModelReport& report = models[ModelOf(node)];
      report.model = ModelOf(node);
      const NodeIndex index = state_.IndexOf(node.name);
      const cluster::NodeFree& free = snapshot_->free().at(index);
      report.free += GpuMilli(free.gpu_total());
      report.free_whole += free.gpu_whole;
      report.free_nodes +=
          !node.gpus.empty() && free.gpu_whole == static_cast<int64_t>(node.gpus.size()) ? 1 : 0;
    }
    std::vector<ModelReport> reports;
    reports.reserve(models.size());
    for (auto& [model, report] : models) reports.push_back(std::move(report));
    return reports;
  }

  // By model.
  std::map<std::string, OutCause> WhyOut(const Pod& pod) const {
    const PodSpec& spec = *pod.spec;
    std::map<std::string, Offer> offers;
    for (const Node& node : nodes_) {
      if (!MayUse(spec, node)) continue;
      Offer& offer = offers[ModelOf(node)];
      offer.cause = std::max(offer.cause, OnNode(spec, node));
      offer.free += GpuMilli(snapshot_->free().at(state_.IndexOf(node.name)).gpu_total());
    }
    std::map<std::string, OutCause> causes;
    for (const auto& [model, offer] : offers) {
      const bool in_pieces = offer.cause == OutCause::kGpusInUse && offer.free >= spec.gpus.total();
      causes[model] = in_pieces ? OutCause::kGpusInPieces : offer.cause;
    }
    if (causes.empty()) causes[""] = OutCause::kNoNode;
    return causes;
  }

 private:
  OutCause OnNode(const PodSpec& spec, const Node& node) const {
    const NodeIndex index = state_.IndexOf(node.name);
    const auto gpus = snapshot_->free().gpus(index);
    const auto enough = std::count_if(gpus.begin(), gpus.end(), [&](const DeviceAmount& free) {
      return free.Holds(spec.gpus.each);
    });
    if (enough < spec.gpus.count) return OutCause::kGpusInUse;
    const cluster::Resources& free = snapshot_->free().at(index).resources;
    if (free.pods < spec.requests.pods) return OutCause::kPodSlots;
    if (free.memory < spec.requests.memory) return OutCause::kMemory;
    if (free.cpu < spec.requests.cpu) return OutCause::kCpu;
    if (!free.named.Fits(spec.requests.named)) return OutCause::kNamed;
    return OutCause::kNotAlone;
  }

  const std::vector<Node>& nodes_;
  cluster::ClusterState state_;
  std::shared_ptr<const cluster::Snapshot> snapshot_;
};

}  // namespace

const char* ToString(OutCause cause) {
  switch (cause) {
    case OutCause::kRefused:
      return "Muster refuses its gang";
    case OutCause::kNoNode:
      return "no node that it may use";
    case OutCause::kGpusInUse:
      return "GPUs in use";
    case OutCause::kGpusInPieces:
      return "free GPUs only in pieces";
    case OutCause::kPodSlots:
      return "no pod slots beside free GPUs";
    case OutCause::kMemory:
      return "no memory beside free GPUs";
    case OutCause::kCpu:
      return "no CPU beside free GPUs";
    case OutCause::kNamed:
      return "too little of another resource beside free GPUs";
    case OutCause::kNotAlone:
      break;
  }
  return "room for it, not for its gang or before its turn";
}

LeftOver LookAtTheEnd(const std::vector<Node>& nodes, const std::vector<PodPtr>& pods,
                      bool whole_only, const std::set<cluster::ObjectKey>& refused) {
  const Ending ending(nodes, pods, whole_only);
  std::map<std::pair<OutCause, std::string>, OutRow> rows;
  for (const PodPtr& record : pods) {
    if (record->pod.bound() || record->pod.terminal()) continue;
    const Pod pod = Counted(record->pod, whole_only);
    const auto why = refused.contains(pod.key)
                         ? std::map<std::string, OutCause>{{"", OutCause::kRefused}}
                         : ending.WhyOut(pod);
    for (const auto& [model, cause] : why) {
      OutRow& row = rows[{cause, model}];
      row.cause = cause;
      row.model = model;
      ++row.pods;
      row.gpus += record->pod.spec->gpus.total();
    }
  }
  LeftOver left;
  left.free = ending.Free();
  for (auto& [key, row] : rows) left.out.push_back(std::move(row));
  std::stable_sort(left.out.begin(), left.out.end(),
                   [](const OutRow& a, const OutRow& b) { return a.pods > b.pods; });
  return left;
}

}  // namespace muster::sim
