#include "engine/contract/fabric_view.hpp"

#include "policy/domains/reserve.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using topology::DomainId;
using topology::Fabric;
using topology::FabricDomain;

namespace {

class Viewer {
 public:
  Viewer(const cluster::Snapshot& nodes, const Fabric& fabric, int64_t gpus)
      : nodes_(nodes),
        fabric_(fabric),
        kept_(policy::KeptNodes(nodes, fabric, policy::NodeFilter::kSchedulable)),
        gpus_(gpus) {}

  void AddTree(size_t tree) {
    for (const DomainId id : fabric_.Outermost(tree)) Add(id, 0);
  }
  std::vector<DomainView> TakeViews() { return std::move(views_); }

 private:
  void Add(DomainId id, int64_t depth) {
    views_.push_back(ViewOf(fabric_.domains()[id]));
    views_.back().depth = depth;
    for (const DomainId child : fabric_.domains()[id].children) Add(child, depth + 1);
  }
  DomainView ViewOf(const FabricDomain& domain) const;

  const cluster::Snapshot& nodes_;
  const Fabric& fabric_;
  const std::shared_ptr<const cluster::NodeSet> kept_;
  const int64_t gpus_;
  std::vector<DomainView> views_;
};

DomainView Viewer::ViewOf(const FabricDomain& domain) const {
  const topology::FabricTree& tree = fabric_.options().trees[domain.level.tree];
  DomainView view;
  view.tree = tree.name;
  view.level = topology::LevelsOf(tree)[domain.level.level].name;
  view.name = domain.name;
  int64_t on_whole_nodes = 0;
  for (NodeIndex index{0}; index.value < nodes_.size(); ++index.value) {
    const cluster::Node* node = nodes_.node(index);
    if (node == nullptr || !domain.nodes->Contains(index)) continue;
    const auto gpus = static_cast<int64_t>(node->gpus.size());
    ++view.nodes;
    view.gpus += gpus;
    if (!node->schedulable()) continue;
    const int64_t free = nodes_.free().at(index).gpu_whole;
    view.free_gpus += free;
    const bool kept = kept_ != nullptr && kept_->Contains(index);
    if (gpus_ > 0 && !kept) view.slots += free / gpus_;
    if (gpus == 0 || free < gpus) continue;
    ++view.free_nodes;
    if (kept) ++view.kept_nodes;
    if (gpus < gpus_ && !kept) on_whole_nodes += gpus;
  }
  if (gpus_ > 0) view.slots += on_whole_nodes / gpus_;
  return view;
}

std::vector<NodePlace> PlacesIn(const cluster::Snapshot& nodes, const Fabric& fabric) {
  std::vector<NodePlace> places;
  for (size_t tree = 0; tree < fabric.options().trees.size(); ++tree) {
    for (NodeIndex index{0}; index.value < nodes.size(); ++index.value) {
      const cluster::Node* node = nodes.node(index);
      if (node == nullptr) continue;
      const DomainId in = fabric.Innermost(tree, index);
      places.push_back({fabric.options().trees[tree].name, node->name,
                        in == Fabric::kNone ? "" : fabric.domains()[in].name});
    }
  }
  return places;
}

}  // namespace

FabricView ViewFabric(const cluster::Snapshot& nodes, const topology::FabricOptions& options,
                      int64_t gpus) {
  topology::FabricMaker maker(options);
  const std::shared_ptr<const Fabric> fabric = maker.Follow(nodes.nodes());
  Viewer viewer(nodes, *fabric, gpus);
  for (size_t tree = 0; tree < options.trees.size(); ++tree) viewer.AddTree(tree);
  return {viewer.TakeViews(), fabric->findings(), PlacesIn(nodes, *fabric)};
}

}  // namespace muster::engine
