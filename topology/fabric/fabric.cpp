#include "topology/fabric/fabric.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace muster::topology {

using cluster::NodeIndex;

size_t Fabric::InnermostLevel(size_t tree) const {
  for (size_t column = EndOf(tree); column-- > first_column_[tree];) {
    if (ranges_[column].first < ranges_[column].last) return column - first_column_[tree];
  }
  return 0;
}

DomainId Fabric::Innermost(size_t tree, NodeIndex node) const {
  for (size_t column = EndOf(tree); column-- > first_column_[tree];) {
    if (const DomainId id = Cell(node, column); id != kNone) return id;
  }
  return kNone;
}

int Fabric::Compare(size_t tree, NodeIndex a, NodeIndex b) const {
  for (size_t column = first_column_[tree]; column < EndOf(tree); ++column) {
    const DomainId one = Cell(a, column);
    const DomainId other = Cell(b, column);
    if (one != other) return one < other ? -1 : 1;
  }
  const uint32_t one = name_places_[a.value];
  const uint32_t other = name_places_[b.value];
  return one == other ? 0 : one < other ? -1 : 1;
}

// Builds one Fabric from what FabricMaker knows of the nodes.
class FabricBuilder {
 public:
  using Labelled = LabelledNode;
  using Column = FabricColumn;

  FabricBuilder(const FabricOptions& options, const std::vector<Labelled>& nodes)
      : nodes_(nodes), by_name_(nodes.size()) {
    fabric_.options_ = options;
    std::iota(by_name_.begin(), by_name_.end(), size_t{0});
    std::sort(by_name_.begin(), by_name_.end(), [&](size_t a, size_t b) {
      return std::tie(nodes_[a].name, a) < std::tie(nodes_[b].name, b);
    });
  }

  Fabric Build() &&;

 private:
  // What a node is called at one level. Ordered, so that domains are.
  struct Step {
    std::string value;
    bool alone = false;
    auto operator<=>(const Step&) const = default;
  };
  struct Place {
    std::vector<Step> path;  // as far down as the node is in domains
    size_t column = 0;
  };
  using Path = std::vector<Step>;
  struct Members {
    std::shared_ptr<cluster::NodeSet> nodes = std::make_shared<cluster::NodeSet>();
    std::vector<size_t> list;
  };

  void ListColumns();
  void PlaceNodes(size_t tree);
  void Number(size_t tree, const std::vector<std::map<Path, Members>>& domains);
  void LinkToParents(size_t tree);
  // What the node is called there; nothing where it is outside.
  bool StepOf(const Column& column, const Labelled& node, Step* step) const;
  const std::string& ValueAt(const Column& column, const Labelled& node) const {
    return column.key ? node.values[column.first_key + *column.key] : no_value_;
  }
  void Find(std::string what) { found_.push_back(std::move(what)); }
  void FindOtherKeys(const Column& column, const Labelled& node);
  // Whether that was found.
  bool FindOtherGeneration(size_t tree, const Labelled& node);
  void FindHalfLabelled(size_t tree, const Labelled& node);
  void FindMissingInner(size_t tree);
  void FindTwoParents(size_t tree);
  void FindCycles(size_t tree);
  void KeepFindings(size_t tree);
  std::string Tree(size_t tree) const { return "tree " + fabric_.options_.trees[tree].name + ": "; }
  static std::string Quoted(const std::string& text) { return '"' + text + '"'; }
  std::vector<const Column*> ColumnsOf(size_t tree) const;

  const std::vector<Labelled>& nodes_;
  const std::string no_value_;
  std::vector<size_t> by_name_;
  std::vector<Column> columns_;
  std::vector<std::string> found_;  // of one tree
  Fabric fabric_;
};

void FabricBuilder::ListColumns() {
  columns_ = ChooseColumns(fabric_.options_, nodes_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    while (fabric_.first_column_.size() <= columns_[i].ref.tree) fabric_.first_column_.push_back(i);
  }
  while (fabric_.first_column_.size() < fabric_.options_.trees.size())
    fabric_.first_column_.push_back(columns_.size());
  fabric_.ranges_.resize(columns_.size());
  fabric_.cells_.assign(nodes_.size() * columns_.size(), Fabric::kNone);
}

std::vector<const FabricBuilder::Column*> FabricBuilder::ColumnsOf(size_t tree) const {
  std::vector<const Column*> columns;
  for (const Column& column : columns_) {
    if (column.ref.tree == tree && column.there) columns.push_back(&column);
  }
  return columns;
}

bool FabricBuilder::StepOf(const Column& column, const Labelled& node, Step* step) const {
  const std::string& value = ValueAt(column, node);
  if (value.empty() && column.level.unlabelled == Unlabelled::kOutside) return false;
  *step = value.empty() ? Step{node.name, true} : Step{value, false};
  return true;
}

void FabricBuilder::FindOtherKeys(const Column& column, const Labelled& node) {
  if (!ValueAt(column, node).empty()) return;
  for (const size_t key : column.keys) {
    if (node.values[column.first_key + key].empty()) continue;
    Find("node " + node.name + " has " + column.level.labels[key] + " for level " +
         column.level.name + ", but most nodes have " + column.level.labels[*column.key] +
         ", so only that counts");
    return;
  }
}

// Once for a node: at a level that the tree has, or at any where none of its labels counts.
bool FabricBuilder::FindOtherGeneration(size_t tree, const Labelled& node) {
  const std::vector<const Column*> there = ColumnsOf(tree);
  const bool none_counts = std::all_of(there.begin(), there.end(), [&](const Column* column) {
    return ValueAt(*column, node).empty();
  });
  for (size_t at = fabric_.first_column_[tree]; at < fabric_.EndOf(tree); ++at) {
    const Column& column = columns_[at];
    if (!ValueAt(column, node).empty() || !(column.there || none_counts)) continue;
    for (size_t key = 0; key < column.level.labels.size(); ++key) {
      const bool counts = std::count(column.keys.begin(), column.keys.end(), key) > 0;
      if (counts || node.values[column.first_key + key].empty()) continue;
      // Of this level, or else of the outermost one.
      const Column& named = column.nodes > 0 ? column : *there.front();
      Find("node " + node.name + " has " + column.level.labels[key] + " for level " +
           column.level.name + ", but most nodes have " + named.level.labels[*named.key] +
           " and others of its generation, so only those count");
      return true;
    }
  }
  return false;
}

void FabricBuilder::FindHalfLabelled(size_t tree, const Labelled& node) {
  const Column* missing = nullptr;
  for (const Column* column : ColumnsOf(tree)) {
    const bool has = !ValueAt(*column, node).empty();
    if (!has && missing == nullptr && column->level.unlabelled == Unlabelled::kOutside)
      missing = column;
    if (!has || missing == nullptr) continue;
    Find("node " + node.name + " has " + column->level.labels[*column->key] + "=" +
         ValueAt(*column, node) + " but no " + missing->level.labels[*missing->key] +
         ": it is in no " + missing->level.name + ", nor in a domain below");
    return;
  }
}

// In a domain in which other nodes go on to the next level. Nodes without GPUs need no label there.
void FabricBuilder::FindMissingInner(size_t tree) {
  const std::vector<const Column*> columns = ColumnsOf(tree);
  for (size_t i = 1; i < columns.size(); ++i) {
    std::map<DomainId, std::vector<size_t>> missing;
    for (const size_t index : by_name_) {
      const NodeIndex node{static_cast<uint32_t>(index)};
      if (!nodes_[index].gpus || fabric_.Of(columns[i]->ref, node) != Fabric::kNone) continue;
      const DomainId above = fabric_.Of(columns[i - 1]->ref, node);
      if (above == Fabric::kNone || fabric_.domains_[above].children.empty()) continue;
      missing[above].push_back(index);
    }
    for (const auto& [above, nodes] : missing) {
      const bool one = nodes.size() == 1;
      Find("in " + columns[i - 1]->level.name + " " + Quoted(fabric_.domains_[above].name) +
           " node " + nodes_[nodes.front()].name +
           (one ? " has" : " and " + std::to_string(nodes.size() - 1) + " more have") + " no " +
           columns[i]->level.labels[*columns[i]->key] +
           ", as others there have: " + (one ? "it is" : "they are") + " in no " +
           columns[i]->level.name + ", nor in a domain below");
    }
  }
}

// One value below two domains.
void FabricBuilder::FindTwoParents(size_t tree) {
  const std::vector<const Column*> columns = ColumnsOf(tree);
  for (size_t i = 1; i < columns.size(); ++i) {
    // By value: a node of each domain above it.
    std::map<std::string, std::map<DomainId, size_t>> above;
    for (const size_t index : by_name_) {
      const NodeIndex node{static_cast<uint32_t>(index)};
      if (nodes_[index].name.empty() || ValueAt(*columns[i], nodes_[index]).empty()) continue;
      if (fabric_.Of(columns[i]->ref, node) == Fabric::kNone) continue;
      const DomainId parent = fabric_.Of(columns[i - 1]->ref, node);
      above[ValueAt(*columns[i], nodes_[index])].try_emplace(parent, index);
    }
    for (const auto& [value, parents] : above) {
      if (parents.size() < 2) continue;
      const auto& [one, by] = *parents.begin();
      const auto& [other, and_by] = *std::next(parents.begin());
      Find(columns[i]->level.name + " " + Quoted(value) + " lies in " +
           std::to_string(parents.size()) + " domains of level " + columns[i - 1]->level.name +
           ": in " + Quoted(fabric_.domains_[one].name) + " by node " + nodes_[by].name + ", in " +
           Quoted(fabric_.domains_[other].name) + " by node " + nodes_[and_by].name +
           "; each counts as a domain of its own");
    }
  }
}

// Values of which each lies below the other, at different levels: labels were mixed up.
void FabricBuilder::FindCycles(size_t tree) {
  const std::vector<const Column*> columns = ColumnsOf(tree);
  std::map<std::string, std::set<std::string>> below;
  std::map<std::pair<std::string, std::string>, size_t> by;
  for (const size_t index : by_name_) {
    const Labelled& node = nodes_[index];
    if (node.name.empty()) continue;
    for (size_t i = 1; i < columns.size(); ++i) {
      const std::string& upper = ValueAt(*columns[i - 1], node);
      const std::string& lower = ValueAt(*columns[i], node);
      if (upper.empty() || lower.empty() || upper == lower) continue;
      below[upper].insert(lower);
      by.try_emplace({upper, lower}, index);
    }
  }
  // Values without anything below them, or nothing but such, are in no cycle.
  std::map<std::string, int64_t> open;
  std::map<std::string, std::vector<std::string>> above;
  std::vector<std::string> ends;
  for (const auto& [upper, lowers] : below) {
    open[upper] = static_cast<int64_t>(lowers.size());
    for (const std::string& lower : lowers) above[lower].push_back(upper);
  }
  for (const auto& [lower, uppers] : above) {
    if (!below.contains(lower)) ends.push_back(lower);
  }
  while (!ends.empty()) {
    const std::string end = std::move(ends.back());
    ends.pop_back();
    for (const std::string& upper : above[end]) {
      if (--open[upper] > 0) continue;
      open.erase(upper);
      ends.push_back(upper);
    }
  }
  // What is left leads into a cycle: each walk down from a value not yet seen reports at most one.
  std::set<std::string> told;
  for (const auto& [value, count] : open) {
    std::vector<std::string> walk;
    for (std::string at = value; told.insert(at).second;) {
      walk.push_back(at);
      for (const std::string& lower : below[at]) {
        if (!open.contains(lower)) continue;
        const auto begin = std::find(walk.begin(), walk.end(), lower);
        if (begin != walk.end()) {
          std::string text = "labels form a cycle: ";
          for (auto one = begin; one != walk.end(); ++one) {
            const std::string& next = std::next(one) == walk.end() ? *begin : *std::next(one);
            text += Quoted(*one) + " above " + Quoted(next) + " (node " +
                    nodes_[by.at({*one, next})].name + ")" +
                    (std::next(one) == walk.end() ? "" : ", ");
          }
          Find(text + "; each path of values counts as a domain of its own");
        }
        at = lower;
        break;
      }
    }
  }
}

void FabricBuilder::KeepFindings(size_t tree) {
  const size_t told = std::min(found_.size(), Fabric::kMostFindings);
  for (size_t i = 0; i < told; ++i) fabric_.findings_.push_back(Tree(tree) + found_[i]);
  if (told < found_.size()) {
    fabric_.findings_.push_back(Tree(tree) + std::to_string(found_.size() - told) +
                                " more findings like these");
  }
  found_.clear();
}

void FabricBuilder::PlaceNodes(size_t tree) {
  const std::vector<const Column*> columns = ColumnsOf(tree);
  std::vector<std::map<Path, Members>> domains(columns.size());
  for (const size_t index : by_name_) {
    const Labelled& node = nodes_[index];
    if (node.name.empty()) continue;
    for (const Column& column : columns_) {
      if (column.ref.tree == tree) FindOtherKeys(column, node);
    }
    if (!FindOtherGeneration(tree, node)) FindHalfLabelled(tree, node);
    Path path;
    for (size_t i = 0; i < columns.size(); ++i) {
      Step step;
      if (!StepOf(*columns[i], node, &step)) break;
      path.push_back(std::move(step));
      Members& members = domains[i][path];
      members.nodes->Add(NodeIndex{static_cast<uint32_t>(index)});
      members.list.push_back(index);
    }
  }
  Number(tree, domains);
}

// In the order of the columns, then of the paths.
void FabricBuilder::Number(size_t tree, const std::vector<std::map<Path, Members>>& domains) {
  size_t there = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].ref.tree != tree) continue;
    const auto first = static_cast<DomainId>(fabric_.domains_.size());
    if (columns_[i].there) {
      for (const auto& [path, members] : domains[there]) {
        const auto id = static_cast<DomainId>(fabric_.domains_.size());
        std::string name;
        for (const Step& step : path) name += (name.empty() ? "" : "/") + step.value;
        fabric_.domains_.push_back({columns_[i].ref, std::move(name), members.nodes,
                                    static_cast<uint32_t>(members.list.size())});
        for (const size_t node : members.list) fabric_.cells_[node * columns_.size() + i] = id;
      }
      ++there;
    }
    fabric_.ranges_[i] = {first, static_cast<DomainId>(fabric_.domains_.size())};
  }
  LinkToParents(tree);
}

// A node is in a domain of each level above one that it is in.
void FabricBuilder::LinkToParents(size_t tree) {
  fabric_.outermost_.resize(tree + 1);
  const Column* above = nullptr;
  for (const Column* column : ColumnsOf(tree)) {
    const Fabric::Range range = fabric_.At(column->ref);
    if (above == nullptr) {
      for (DomainId id = range.first; id < range.last; ++id) fabric_.outermost_[tree].push_back(id);
    } else {
      for (const size_t index : by_name_) {
        const NodeIndex node{static_cast<uint32_t>(index)};
        const DomainId id = fabric_.Of(column->ref, node);
        if (id != Fabric::kNone) fabric_.domains_[id].parent = fabric_.Of(above->ref, node);
      }
      for (DomainId id = range.first; id < range.last; ++id)
        fabric_.domains_[fabric_.domains_[id].parent].children.push_back(id);
    }
    above = column;
  }
}

Fabric FabricBuilder::Build() && {
  ListColumns();
  fabric_.name_places_.resize(nodes_.size());
  for (size_t place = 0; place < by_name_.size(); ++place)
    fabric_.name_places_[by_name_[place]] = static_cast<uint32_t>(place);
  for (size_t tree = 0; tree < fabric_.options_.trees.size(); ++tree) {
    PlaceNodes(tree);
    FindMissingInner(tree);
    FindTwoParents(tree);
    FindCycles(tree);
    KeepFindings(tree);
  }
  return std::move(fabric_);
}

FabricMaker::FabricMaker(FabricOptions options) : options_(std::move(options)) {
  for (const FabricTree& tree : options_.trees) {
    for (const FabricLevel& level : LevelsOf(tree))
      keys_.insert(keys_.end(), level.labels.begin(), level.labels.end());
  }
  fabric_ = std::make_shared<const Fabric>(FabricBuilder(options_, labelled_).Build());
}

LabelledNode FabricMaker::Read(const cluster::Node* node) const {
  LabelledNode read;
  if (node == nullptr) return read;
  read.name = node->name;
  read.gpus = !node->gpus.empty();
  for (const std::string& key : keys_) {
    const auto label = node->labels.find(key);
    read.values.push_back(label == node->labels.end() ? std::string() : label->second);
  }
  return read;
}

const std::shared_ptr<const Fabric>& FabricMaker::Follow(const cluster::NodeTable& nodes) {
  if (options_.trees.empty()) return fabric_;
  bool changed = labelled_.size() != nodes.size();
  labelled_.resize(nodes.size());
  for (uint32_t chunk = 0; chunk < nodes.chunks(); ++chunk) {
    if (nodes.SameChunk(nodes_, chunk)) continue;
    const uint32_t end = std::min((chunk + 1) * cluster::NodeTable::kChunk, nodes.size());
    for (uint32_t i = chunk * cluster::NodeTable::kChunk; i < end; ++i) {
      LabelledNode now = Read(nodes[i].get());
      if (now == labelled_[i]) continue;
      labelled_[i] = std::move(now);
      changed = true;
    }
  }
  nodes_ = nodes;
  if (changed) fabric_ = std::make_shared<const Fabric>(FabricBuilder(options_, labelled_).Build());
  return fabric_;
}

DomainSums::DomainSums(std::shared_ptr<const Fabric> fabric)
    : fabric_(std::move(fabric)), sums_(fabric_->domains().size()) {}

void DomainSums::Set(NodeIndex node, int64_t count) {
  if (node.value >= counts_.size()) counts_.resize(node.value + 1);
  const int64_t more = count - std::exchange(counts_[node.value], count);
  if (more == 0) return;
  for (size_t column = 0; column < fabric_->columns(); ++column) {
    const DomainId domain = fabric_->Cell(node, column);
    if (domain != Fabric::kNone) sums_[domain] += more;
  }
}

}  // namespace muster::topology
