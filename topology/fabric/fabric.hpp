// Fabric: the domains of the network that nodes are in, by their labels. FabricMaker: the Fabric of
// one table of nodes after the other. DomainSums: a number of each node, summed up by domain.
//
// 1. A domain is the set of nodes with the same label values from the outermost level to its own.
//    So one rack that is named under two blocks is two domains, and a finding.
// 2. A level whose label no node has is not there: it has no domains, and its tree goes on below
//    it. (Not so where a node without label is alone.)
// 3. An empty value is no label.
// 4. Of the generations of a tree's labels the one counts that most nodes have, the newest of
//    several (GenerationsOf). Nodes with labels of another one alone are a finding.
// 5. Domains depend on names and labels of the nodes, findings also on whether they have GPUs, but
//    not on their indices.
//
// A Fabric is immutable, any thread may read it. FabricMaker and DomainSums: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "topology/fabric/fabric_columns.hpp"
#include "topology/fabric/fabric_options.hpp"

namespace muster::topology {

// Position of a domain in its Fabric.
using DomainId = uint32_t;
inline constexpr DomainId kNoDomain = UINT32_MAX;

struct FabricDomain {
  LevelRef level;
  // Label values from the outermost level to its own, '/' in between; the node's name where that is
  // alone.
  std::string name;
  std::shared_ptr<const cluster::NodeSet> nodes;
  uint32_t node_count = 0;
  DomainId parent = kNoDomain;          // of the next level outwards that has domains
  std::vector<DomainId> children = {};  // rising
};

class Fabric {
 public:
  static constexpr DomainId kNone = kNoDomain;
  // At most so many findings of a tree are told one by one.
  static constexpr size_t kMostFindings = 50;

  const FabricOptions& options() const { return options_; }
  // Ordered by tree, level, then name.
  const std::vector<FabricDomain>& domains() const { return domains_; }
  // The domains [first, last) of a level.
  struct Range {
    DomainId first = 0;
    DomainId last = 0;
  };
  Range At(const LevelRef& level) const { return ranges_[ColumnOf(level)]; }
  bool HasDomains(const LevelRef& level) const { return At(level).first < At(level).last; }
  // The domains of a tree that lie in no other.
  const std::vector<DomainId>& Outermost(size_t tree) const { return outermost_[tree]; }
  // The node's domain at that level; kNone: it is in none.
  DomainId Of(const LevelRef& level, cluster::NodeIndex node) const {
    return Cell(node, ColumnOf(level));
  }
  // The innermost level of that tree that has domains; 0 where none has.
  size_t InnermostLevel(size_t tree) const;
  // Its innermost domain of that tree; kNone: it is in none.
  DomainId Innermost(size_t tree, cluster::NodeIndex node) const;
  // By domains from the outermost to the innermost, then by name of the node: below 0, 0, above 0.
  // Nodes in no domain come last.
  int Compare(size_t tree, cluster::NodeIndex a, cluster::NodeIndex b) const;
  // All levels of all trees, tree by tree, the outermost first.
  size_t columns() const { return ranges_.size(); }
  DomainId Cell(cluster::NodeIndex node, size_t column) const {
    const size_t at = node.value * columns() + column;
    return at < cells_.size() ? cells_[at] : kNone;
  }
  // What is wrong with the nodes' labels, one sentence each: which tree, node and label.
  const std::vector<std::string>& findings() const { return findings_; }

 private:
  friend class FabricBuilder;
  size_t ColumnOf(const LevelRef& level) const { return first_column_[level.tree] + level.level; }
  size_t EndOf(size_t tree) const {
    return tree + 1 < first_column_.size() ? first_column_[tree + 1] : columns();
  }

  FabricOptions options_;
  std::vector<size_t> first_column_;  // by tree
  std::vector<FabricDomain> domains_;
  std::vector<std::vector<DomainId>> outermost_;  // by tree
  std::vector<Range> ranges_;                     // by column
  std::vector<DomainId> cells_;                   // by node, then column
  std::vector<uint32_t> name_places_;             // by node: the place of its name among all
  std::vector<std::string> findings_;
};

class FabricMaker {
 public:
  explicit FabricMaker(FabricOptions options);
  // The same object as before where nothing changed that it depends on; costs one comparison per
  // chunk of nodes then.
  const std::shared_ptr<const Fabric>& Follow(const cluster::NodeTable& nodes);

 private:
  LabelledNode Read(const cluster::Node* node) const;

  FabricOptions options_;
  std::vector<std::string> keys_;  // as LabelledNode::values has them
  cluster::NodeTable nodes_;
  std::vector<LabelledNode> labelled_;  // by node index
  std::shared_ptr<const Fabric> fabric_;
};

class DomainSums {
 public:
  explicit DomainSums(std::shared_ptr<const Fabric> fabric);
  const std::shared_ptr<const Fabric>& fabric() const { return fabric_; }
  // At first every node counts 0.
  void Set(cluster::NodeIndex node, int64_t count);
  int64_t Of(DomainId domain) const { return sums_[domain]; }
  const std::vector<int64_t>& sums() const { return sums_; }      // by DomainId
  const std::vector<int64_t>& counts() const { return counts_; }  // by NodeIndex; others count 0

 private:
  std::shared_ptr<const Fabric> fabric_;
  std::vector<int64_t> counts_;  // by node
  std::vector<int64_t> sums_;    // by domain
};

}  // namespace muster::topology
