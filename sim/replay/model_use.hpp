// ModelUse: how the GPUs of each model were used in a replay. Owned by ReplayRecorder; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/records/node.hpp"

namespace muster::sim {

// Nodes whose GPUs are of one model.
struct ModelReport {
  std::string model;  // empty: nodes without GPUs, or of a model that nobody wrote down
  int64_t nodes = 0;
  int64_t gpus = 0;
  cluster::GpuMilli most_used;  // at the moment when that was most
  double utilization = 0;       // used / capacity, mean over time
  // At the end (left_over.hpp).
  cluster::GpuMilli free;
  int64_t free_whole = 0;  // GPUs of which nothing is taken
  int64_t free_nodes = 0;  // of which no GPU has anything taken
};

// Of its first GPU.
std::string ModelOf(const cluster::Node& node);

class ModelUse {
 public:
  explicit ModelUse(const std::vector<cluster::Node>& nodes);

  // So much more is used on the node from `at` on; less where `gpus` is below zero.
  void Use(const std::string& node, cluster::GpuMilli gpus, cluster::Time at);
  // From `first` to `last`, ordered by model; what is free is left to others.
  std::vector<ModelReport> Report(cluster::Time first, cluster::Time last) const;

 private:
  struct Model {
    ModelReport report;
    cluster::GpuMilli used;
    cluster::Time since;  // of `used`
    double milli_ms = 0;  // GPU-milli × ms, until `since`
  };
  std::map<std::string, Model> models_;
  std::map<std::string, std::string> model_of_;  // by node
};

}  // namespace muster::sim
