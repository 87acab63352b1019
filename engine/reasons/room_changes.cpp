#include "engine/reasons/room_changes.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/holdings/transaction.hpp"

namespace muster::engine {

using cluster::DeviceAmount;
using cluster::Node;
using cluster::NodeIndex;
using cluster::Snapshot;
using cluster::Taint;
using cluster::Toleration;
using policy::Demand;
using policy::NodeFilter;
using policy::PlaceAnswer;

namespace {

constexpr size_t kMostNamed = 4;
// Of what is enough, so many parts are tried to be left out.
constexpr size_t kMostSpared = 16;
// Sets of taints that are tried, those of most nodes first.
constexpr size_t kMostTaints = 4;

PlaceAnswer Place(const RoomAsk& ask, const std::shared_ptr<const Snapshot>& nodes,
                  NodeFilter filter = NodeFilter::kSchedulable,
                  const std::shared_ptr<const cluster::NodeSet>& also_kept = nullptr) {
  cluster::Transaction tx(nodes);
  policy::GangTerms terms = ask.request.terms;
  terms.reasons = false;
  terms.kept = cluster::Together(terms.kept, also_kept);
  return ask.placer.PlaceGang(tx, ask.request.required, filter, terms);
}

// Calls visit(index, node) for all that are there.
template <typename Visit>
void EachNode(const Snapshot& nodes, const Visit& visit) {
  for (NodeIndex index{0}; index.value < nodes.size(); ++index.value) {
    if (nodes.node(index) != nullptr) visit(index, *nodes.node(index));
  }
}

// "a, b and 3 more".
std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  const size_t named = std::min(names.size(), kMostNamed);
  for (size_t i = 0; i < named; ++i) {
    const bool last = i > 0 && i + 1 == names.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  if (names.size() > named) text += " and " + std::to_string(names.size() - named) + " more";
  return text;
}

// GPUs of a node to be freed for one more pod of those that ask for most.
struct RoomStep {
  NodeIndex node;
  int64_t gpus = 0;
  const std::string* name = nullptr;
};
bool Cheaper(const RoomStep& a, const RoomStep& b) {
  return std::tie(a.gpus, *a.name) < std::tie(b.gpus, *b.name);
}

const Demand& Hardest(const std::vector<Demand>& demands) {
  return *std::max_element(demands.begin(), demands.end(), [](const Demand& a, const Demand& b) {
    return a.spec->gpus.total() < b.spec->gpus.total();
  });
}

bool Open(const RoomAsk& ask, const cluster::PodSpec& pod, NodeIndex index, const Node& node) {
  const auto& kept = ask.request.terms.kept;
  return node.schedulable() && (kept == nullptr || !kept->Contains(index)) &&
         cluster::ToleratesAll(pod.constraints.tolerations, node.taints) &&
         cluster::MatchesNode(pod.constraints, node.name, node.labels);
}

// The cheapest first. Of one node the first step frees what its free GPUs lack for one more pod.
std::vector<RoomStep> StepsFor(const RoomAsk& ask) {
  const cluster::PodSpec& pod = *Hardest(ask.request.required).spec;
  std::vector<RoomStep> steps;
  if (pod.gpus.none() || !pod.gpus.whole()) return steps;
  const int64_t each = pod.gpus.count;
  const int64_t most = std::ssize(ask.request.required);
  EachNode(*ask.nodes, [&](NodeIndex index, const Node& node) {
    if (!Open(ask, pod, index, node)) return;
    const int64_t usable = std::count_if(node.gpus.begin(), node.gpus.end(),
                                         [](const cluster::Gpu& gpu) { return gpu.usable(); });
    int64_t free = ask.nodes->free().at(index).gpu_whole;
    for (int64_t i = 0; i < most && (free / each + 1) * each <= usable; ++i) {
      const int64_t lacks = (free / each + 1) * each - free;
      steps.push_back({index, lacks, &node.name});
      free += lacks;
    }
  });
  std::stable_sort(steps.begin(), steps.end(), Cheaper);
  return steps;
}

std::shared_ptr<const Snapshot> Freed(const Snapshot& nodes, const std::vector<RoomStep>& steps) {
  cluster::FreeTable free = nodes.free();
  for (const RoomStep& step : steps) {
    const auto before = free.gpus(step.node);
    std::vector<DeviceAmount> gpus(before.begin(), before.end());
    const Node& node = *nodes.node(step.node);
    int64_t left = step.gpus;
    for (size_t i = 0; i < gpus.size() && left > 0; ++i) {
      if (!node.gpus[i].usable() || gpus[i] == DeviceAmount::All()) continue;
      gpus[i] = DeviceAmount::All();
      --left;
    }
    const cluster::Resources resources = free.at(step.node).resources;
    free.Set(step.node, resources, gpus);
  }
  return std::make_shared<const Snapshot>(nodes.nodes(), std::move(free), nodes.generation(),
                                          nodes.layout(), nullptr, nodes.pods());
}

// The fewest first of `parts` with which it is placed, less those that are not needed, the last
// first; nothing: not even all are enough. Each part has a `node`.
template <typename Part, typename Try>
std::optional<std::vector<Part>> Least(const std::vector<Part>& parts, const Try& with) {
  if (parts.empty() || !with(parts).placed) return std::nullopt;
  size_t fails = 0;
  size_t enough = parts.size();
  const auto first = [&](size_t count) {
    return std::vector<Part>(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count));
  };
  while (fails + 1 < enough) {
    const size_t middle = fails + (enough - fails) / 2;
    (with(first(middle)).placed ? enough : fails) = middle;
  }
  std::vector<Part> least = first(enough);
  const auto take_if_placed = [&](std::vector<Part> fewer) {
    if (!fewer.empty() && with(fewer).placed) least = std::move(fewer);
  };
  cluster::NodeSet used;
  for (const cluster::Placement& one : with(least).placements) used.Add(one.node);
  std::vector<Part> there = least;
  std::erase_if(there, [&](const Part& part) { return !used.Contains(part.node); });
  if (there.size() < least.size()) take_if_placed(std::move(there));
  size_t tries = 0;
  for (size_t i = least.size(); i-- > 0 && tries < kMostSpared; ++tries) {
    std::vector<Part> fewer = least;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    take_if_placed(std::move(fewer));
  }
  return least;
}

bool FitsNow(const RoomAsk& ask) {
  return ask.request.required.empty() || Place(ask, ask.nodes).placed;
}

std::optional<std::vector<RoomStep>> StepsToFree(const RoomAsk& ask) {
  return Least(StepsFor(ask), [&](const std::vector<RoomStep>& some) {
    return Place(ask, Freed(*ask.nodes, some));
  });
}

RoomChange ToFree(const std::vector<RoomStep>& steps) {
  std::map<std::string, int64_t> by_node;
  RoomChange change;
  for (const RoomStep& step : steps) {
    by_node[*step.name] += step.gpus;
    change.gpus += step.gpus;
  }
  std::vector<std::string> parts;
  parts.reserve(by_node.size());
  for (const auto& [name, count] : by_node) {
    parts.push_back(std::to_string(count) + " on " + name);
    change.nodes.push_back({name, count});
  }
  change.text = std::to_string(change.gpus) + " more " +
                (change.gpus == 1 ? "GPU becomes free" : "GPUs become free") +
                (by_node.size() == 1 ? " on " + by_node.begin()->first : ": " + Listed(parts));
  return change;
}

using TaintSet = std::vector<Taint>;

// What keeps each node from it beside what else does; those of most nodes first.
std::vector<std::pair<TaintSet, int64_t>> TaintsOf(const RoomAsk& ask) {
  const cluster::NodeConstraints& constraints = Hardest(ask.request.required).spec->constraints;
  std::map<TaintSet, int64_t> counts;
  EachNode(*ask.nodes, [&](NodeIndex, const Node& node) {
    if (!node.schedulable() || !cluster::MatchesNode(constraints, node.name, node.labels)) return;
    TaintSet taints;
    for (const Taint& taint : node.taints) {
      if (!cluster::ToleratesAll(constraints.tolerations, {taint})) taints.push_back(taint);
    }
    if (!taints.empty()) ++counts[taints];
  });
  std::vector<std::pair<TaintSet, int64_t>> taints(counts.begin(), counts.end());
  std::stable_sort(taints.begin(), taints.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return taints;
}

// Each spec once, so that equal pods stay equal.
RoomAsk Tolerating(const RoomAsk& ask, const TaintSet& taints) {
  RoomAsk tolerant = ask;
  std::map<std::shared_ptr<const cluster::PodSpec>, std::shared_ptr<const cluster::PodSpec>> specs;
  for (Demand& demand : tolerant.request.required) {
    std::shared_ptr<const cluster::PodSpec>& spec = specs[demand.spec];
    if (spec == nullptr) {
      cluster::PodSpec changed = *demand.spec;
      for (const Taint& taint : taints) {
        changed.constraints.tolerations.push_back(
            {taint.key, Toleration::Op::kEqual, taint.value, false, taint.effect});
      }
      spec = std::make_shared<const cluster::PodSpec>(std::move(changed));
    }
    demand.spec = spec;
  }
  return tolerant;
}

std::string NameOf(const Taint& taint) {
  return taint.value.empty() ? taint.key : taint.key + "=" + taint.value;
}

RoomChange ToTolerate(const TaintSet& taints) {
  std::vector<std::string> names;
  for (const Taint& taint : taints) names.push_back(NameOf(taint));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  RoomChange change;
  change.text = std::string("its pods tolerate ") + (names.size() == 1 ? "taint " : "taints ") +
                Listed(names);
  change.taints = std::move(names);
  return change;
}

}  // namespace

std::optional<RoomChange> GpusToFree(const RoomAsk& ask) {
  if (FitsNow(ask)) return std::nullopt;
  const auto steps = StepsToFree(ask);
  if (!steps) return std::nullopt;
  return ToFree(*steps);
}

std::optional<RoomChange> TaintsToTolerate(const RoomAsk& ask) {
  if (FitsNow(ask)) return std::nullopt;
  const auto taints = TaintsOf(ask);
  for (size_t i = 0; i < std::min(taints.size(), kMostTaints); ++i) {
    const auto& [set, nodes] = taints[i];
    if (!Place(Tolerating(ask, set), ask.nodes).placed) continue;
    RoomChange change = ToTolerate(set);
    change.text += " (of " + std::to_string(nodes) + (nodes == 1 ? " node)" : " nodes)");
    return change;
  }
  return std::nullopt;
}

std::optional<RoomChange> NodesToReturn(const RoomAsk& ask) {
  if (FitsNow(ask)) return std::nullopt;
  struct Away {
    NodeIndex node;
    int64_t free = 0;
    const Node* record = nullptr;
  };
  std::vector<Away> away;
  EachNode(*ask.nodes, [&](NodeIndex index, const Node& node) {
    if (!node.schedulable())
      away.push_back({index, ask.nodes->free().at(index).gpu_total(), &node});
  });
  std::stable_sort(away.begin(), away.end(), [](const Away& a, const Away& b) {
    return std::tie(b.free, a.record->name) < std::tie(a.free, b.record->name);
  });
  const auto least = Least(away, [&](const std::vector<Away>& back) {
    cluster::NodeSet shut;
    for (const Away& one : away) shut.Add(one.node);
    for (const Away& one : back) shut.Remove(one.node);
    return Place(ask, ask.nodes, NodeFilter::kAll,
                 std::make_shared<const cluster::NodeSet>(std::move(shut)));
  });
  if (!least) return std::nullopt;
  std::vector<std::string> names;
  for (const Away& one : *least) {
    const char* why = !one.record->ready          ? " (not ready)"
                      : one.record->unschedulable ? " (cordoned)"
                                                  : " (left out)";
    names.push_back(one.record->name + why);
  }
  std::sort(names.begin(), names.end());
  RoomChange change;
  change.text =
      std::string(names.size() == 1 ? "node " : "nodes ") + Listed(names) + " can be used again";
  for (const Away& one : *least) change.nodes.push_back({one.record->name});
  std::sort(change.nodes.begin(), change.nodes.end());
  return change;
}

std::optional<RoomChange> TaintsAndGpus(const RoomAsk& ask) {
  if (FitsNow(ask)) return std::nullopt;
  TaintSet all;
  for (const auto& [set, nodes] : TaintsOf(ask)) {
    for (const Taint& taint : set) {
      if (std::find(all.begin(), all.end(), taint) == all.end()) all.push_back(taint);
    }
  }
  if (all.empty()) return std::nullopt;
  const RoomAsk tolerant = Tolerating(ask, all);
  const auto steps = StepsToFree(tolerant);
  if (!steps) return std::nullopt;
  const auto freed = Freed(*ask.nodes, *steps);
  for (size_t i = all.size(); i-- > 0;) {
    TaintSet fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (Place(Tolerating(ask, fewer), freed).placed) all = std::move(fewer);
  }
  RoomChange change = ToFree(*steps);
  RoomChange tolerated = ToTolerate(all);
  change.text = tolerated.text + ", and " + change.text;
  change.taints = std::move(tolerated.taints);
  return change;
}

}  // namespace muster::engine
