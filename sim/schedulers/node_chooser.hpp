// NodeChooser: the part of a kube-scheduler cycle that finds a node for one pod: built-in checks,
// extender Filter, scores, extender Prioritize. Internal to KubeScheduler.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/api_server/random.hpp"
#include "sim/calls/extender_port.hpp"
#include "sim/schedulers/scheduler_cache.hpp"
#include "sim/schedulers/scheduler_options.hpp"

namespace muster::sim {

struct Choice {
  enum class Kind { kNode, kNone, kError };
  Kind kind = Kind::kNone;
  std::string node;          // kNode
  bool by_extender = false;  // kNone: the extender turned nodes down
  std::string message;       // kNone, kError
};

class NodeChooser {
 public:
  // All referenced objects outlive this. `extender` may be null.
  NodeChooser(const SchedulerCache& cache, ExtenderPort* extender,
              const KubeSchedulerOptions& options, const std::vector<OtherCheck>& others,
              KubeSchedulerStats& stats)
      : cache_(cache),
        extender_(extender),
        options_(options),
        others_(others),
        stats_(stats),
        random_(options.seed) {}

  Choice Choose(const cluster::Pod& pod);

 private:
  using Nodes = std::vector<const SchedulerCache::NodeInfo*>;

  // The nominated node, if it passes on its own; else null.
  const SchedulerCache::NodeInfo* TryNominated(const cluster::Pod& pod);
  // Nodes that pass the built-in checks, as many as are to be scored; counts what the others fail
  // of.
  Nodes Feasible(const cluster::Pod& pod, std::map<std::string, int64_t>& turned_down);
  // Why the node does not pass the built-in checks; empty: it does.
  std::string Obstacle(const cluster::Pod& pod, const SchedulerCache::NodeInfo& node) const;
  // How many feasible nodes end the search (percentageOfNodesToScore).
  size_t Enough() const;
  FilterReply AskFilter(const cluster::Pod& pod, const Nodes& nodes);
  const SchedulerCache::NodeInfo* Best(const cluster::Pod& pod, const Nodes& nodes);
  int64_t BuiltInScore(const cluster::Pod& pod, const SchedulerCache::NodeInfo& node) const;
  std::string Explain(std::map<std::string, int64_t> turned_down, const FilterReply& reply) const;

  const SchedulerCache& cache_;
  ExtenderPort* const extender_;
  const KubeSchedulerOptions& options_;
  const std::vector<OtherCheck>& others_;
  KubeSchedulerStats& stats_;
  Random random_;
  size_t next_start_ = 0;  // where the next search begins
};

}  // namespace muster::sim
