#include "policy/victims/later.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "cluster/holdings/transaction.hpp"

namespace muster::policy {

using cluster::Placement;
using cluster::Snapshot;
using topology::DomainId;

namespace {

class Later {
 public:
  Later(Placer& placer, const std::shared_ptr<const Snapshot>& snapshot,
        const std::vector<Demand>& demands, const GangTerms& terms)
      : placer_(placer), snapshot_(snapshot), demands_(demands), terms_(terms) {}

  LaterAnswer Find(const std::vector<Leaving>& steps) {
    LaterAnswer best = Try(steps, steps.size());
    if (!best.placed) return best;
    size_t too_few = 0;
    if (LaterAnswer now = Try(steps, 0); now.placed) return now;
    while (best.steps - too_few > 1) {
      const size_t half = too_few + (best.steps - too_few) / 2;
      LaterAnswer answer = Try(steps, half);
      if (answer.placed) {
        best = std::move(answer);
      } else {
        too_few = half;
      }
    }
    return best;
  }

 private:
  LaterAnswer Try(const std::vector<Leaving>& steps, size_t count) {
    cluster::Transaction tx(snapshot_);
    for (size_t i = 0; i < count; ++i) {
      for (const Placement& held : steps[i]) tx.Evict(held);
    }
    PlaceAnswer answer = placer_.PlaceGang(tx, demands_, NodeFilter::kSchedulable, terms_);
    return {answer.placed, count, std::move(answer.placements)};
  }

  Placer& placer_;
  const std::shared_ptr<const Snapshot>& snapshot_;
  const std::vector<Demand>& demands_;
  const GangTerms& terms_;
};

// What is closed together: a domain, or everything.
struct Group {
  int64_t gpu_milli = 0;
  cluster::Time last;
  std::string name;
  std::vector<const BusyNode*> nodes;  // in order
};

std::vector<Group> GroupsOf(const topology::Fabric& fabric, const std::string& level,
                            const std::vector<BusyNode>& nodes) {
  const std::vector<topology::LevelRef> levels =
      level.empty() ? std::vector<topology::LevelRef>{}
                    : topology::FindLevels(fabric.options(), level);
  std::map<DomainId, Group> groups;
  const auto add = [&](DomainId id, const BusyNode& node) {
    Group& group = groups[id];
    group.gpu_milli += node.gpu_milli;
    group.last = std::max(group.last, node.last);
    group.nodes.push_back(&node);
  };
  for (const BusyNode& node : nodes) {
    if (levels.empty()) add(topology::kNoDomain, node);
    for (const topology::LevelRef& at : levels) {
      const DomainId id = fabric.Of(at, node.node);
      if (id != topology::kNoDomain) add(id, node);
    }
  }
  std::vector<Group> ordered;
  for (auto& [id, group] : groups) {
    if (id != topology::kNoDomain) group.name = fabric.domains()[id].name;
    ordered.push_back(std::move(group));
  }
  std::sort(ordered.begin(), ordered.end(), [](const Group& a, const Group& b) {
    return std::tie(a.gpu_milli, a.last, a.name) < std::tie(b.gpu_milli, b.last, b.name);
  });
  return ordered;
}

}  // namespace

LaterAnswer PlaceLater(Placer& placer, const std::shared_ptr<const Snapshot>& snapshot,
                       const std::vector<Leaving>& steps, const std::vector<Demand>& demands,
                       const GangTerms& terms) {
  return Later(placer, snapshot, demands, terms).Find(steps);
}

LaterAnswer PlaceByClosing(Placer& placer, const std::shared_ptr<const Snapshot>& snapshot,
                           std::vector<BusyNode> nodes, const std::string& level,
                           const GangRequest& request) {
  std::sort(nodes.begin(), nodes.end(), [&](const BusyNode& a, const BusyNode& b) {
    return std::tie(a.gpu_milli, a.last, snapshot->node(a.node)->name) <
           std::tie(b.gpu_milli, b.last, snapshot->node(b.node)->name);
  });
  const std::shared_ptr<const topology::Fabric> fabric = placer.FabricOf(snapshot->nodes());
  for (const Group& group : GroupsOf(*fabric, level, nodes)) {
    std::vector<Leaving> steps;
    steps.reserve(group.nodes.size());
    for (const BusyNode* node : group.nodes) steps.push_back(node->leave);
    LaterAnswer answer = Later(placer, snapshot, request.required, request.terms).Find(steps);
    if (answer.placed) return answer;
  }
  return {};
}

}  // namespace muster::policy
