#include "sim/replay/model_use.hpp"

#include <algorithm>

namespace muster::sim {

using cluster::GpuMilli;
using cluster::Time;

namespace {

double MilliMs(GpuMilli gpus, cluster::Duration time) {
  return static_cast<double>(gpus.value()) * static_cast<double>(time.value());
}

}  // namespace

std::string ModelOf(const cluster::Node& node) {
  return node.gpus.empty() ? std::string() : node.gpus.front().model;
}

ModelUse::ModelUse(const std::vector<cluster::Node>& nodes) {
  for (const cluster::Node& node : nodes) {
    Model& model = models_[ModelOf(node)];
    model.report.model = ModelOf(node);
    ++model.report.nodes;
    model.report.gpus += static_cast<int64_t>(node.gpus.size());
    model_of_[node.name] = ModelOf(node);
  }
}

void ModelUse::Use(const std::string& node, GpuMilli gpus, Time at) {
  const auto found = model_of_.find(node);
  if (found == model_of_.end()) return;
  Model& model = models_.at(found->second);
  model.milli_ms += MilliMs(model.used, at - model.since);
  model.since = at;
  model.used += gpus;
  model.report.most_used = std::max(model.report.most_used, model.used);
}

std::vector<ModelReport> ModelUse::Report(Time first, Time last) const {
  std::vector<ModelReport> reports;
  for (const auto& [name, model] : models_) {
    ModelReport report = model.report;
    const double capacity = MilliMs(cluster::kWholeGpu * report.gpus, last - first);
    const double used =
        model.milli_ms + MilliMs(model.used, std::max(last, model.since) - model.since);
    if (capacity > 0) report.utilization = used / capacity;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace muster::sim
