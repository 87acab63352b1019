#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "queues/queue_spec.hpp"

namespace muster::queues {
namespace {

constexpr size_t kNobody = SIZE_MAX;

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

class FaultFinder {
 public:
  explicit FaultFinder(const std::vector<QueueSpec>& queues) : queues_(queues) {}
  std::vector<Fault> Find();

 private:
  void Tell(size_t queue, std::string field, std::string message) {
    faults_.push_back({queue, std::move(field), std::move(message)});
  }
  void CheckNames();
  void CheckRoot(size_t i);
  void CheckParents();
  void CheckAmounts(size_t i);
  void CheckShapes(size_t i);
  void CheckShapeSums(size_t i);
  void CheckSums(size_t i);
  void CheckReach(size_t i);
  bool SaysNamespaces(size_t i) const {
    return !queues_[i].namespaces.empty() || queues_[i].selector.has_value();
  }

  const std::vector<QueueSpec>& queues_;
  std::vector<Fault> faults_;
  std::map<std::string, size_t> by_name_;      // the first of each name
  std::vector<size_t> parents_;                // kNobody: the root, or it has none that is known
  std::vector<std::vector<size_t>> children_;  // of those that are in no cycle
};

void FaultFinder::CheckNames() {
  for (size_t i = 0; i < queues_.size(); ++i) {
    const std::string& name = queues_[i].name;
    if (name.empty() || name == kOrphan) {
      Tell(i, "name", "expected a name, found " + Quoted(name));
      continue;
    }
    const auto [first, fresh] = by_name_.emplace(name, i);
    if (!fresh) {
      Tell(i, "name",
           "expected a name that no other queue has, found " + Quoted(name) + " again (first as [" +
               std::to_string(first->second) + "])");
    }
  }
  if (std::ssize(queues_) > kMostQueues) {
    Tell(static_cast<size_t>(kMostQueues), "name",
         "expected at most " + std::to_string(kMostQueues) + " queues, found " +
             std::to_string(queues_.size()));
  }
}

// The cluster is all of it: nothing can be guaranteed to it, or shared with it.
void FaultFinder::CheckRoot(size_t i) {
  const QueueSpec& root = queues_[i];
  const auto refuse = [&](bool given, const char* field, const char* why) {
    if (given) Tell(i, field, std::string("expected nothing here in queue \"root\", ") + why);
  };
  refuse(!root.parent.empty(), "parent", "which is above all others");
  refuse(!root.guarantee.none(), "guarantee", "which has the whole cluster");
  refuse(!root.shapes.empty(), "guarantee.shapes", "which has the whole cluster");
  refuse(!root.lend.none(), "lend", "which has nobody to lend to");
  refuse(root.weight != 1, "weight", "which has no siblings");
}

void FaultFinder::CheckParents() {
  parents_.assign(queues_.size(), kNobody);
  children_.resize(queues_.size());
  for (size_t i = 0; i < queues_.size(); ++i) {
    const QueueSpec& queue = queues_[i];
    if (queue.name == kRoot) continue;
    const std::string name = queue.parent.empty() ? kRoot : queue.parent;
    if (const auto parent = by_name_.find(name); parent != by_name_.end()) {
      parents_[i] = parent->second;
    } else if (name != kRoot) {
      Tell(i, "parent", "expected the name of a queue, found " + Quoted(name));
    }
  }
  for (size_t i = 0; i < queues_.size(); ++i) {
    std::string way = queues_[i].name;
    int64_t levels = 1;
    bool least = true;  // told once, at the first of the cycle
    bool cycle = false;
    for (size_t up = parents_[i]; up != kNobody && levels <= std::ssize(queues_);
         up = parents_[up]) {
      way += " → " + queues_[up].name;
      least = least && up >= i;
      cycle = up == i;
      if (cycle) break;
      levels += queues_[up].name == kRoot ? 0 : 1;
    }
    if (cycle && least)
      Tell(i, "parent", "expected a queue that is not below this one, found the cycle " + way);
    if (cycle || levels > std::ssize(queues_)) continue;
    levels += queues_[i].fair_by == FairBy::kNamespace ? 1 : 0;
    if (levels > kMostLevels) {
      Tell(i, "parent",
           "expected at most " + std::to_string(kMostLevels) + " levels below the root, found " +
               std::to_string(levels));
    }
    if (parents_[i] != kNobody) children_[parents_[i]].push_back(i);
  }
}

void FaultFinder::CheckAmounts(size_t i) {
  const QueueSpec& queue = queues_[i];
  for (const auto& [resource, limit] : queue.limit.said()) {
    const Amount guarantee = GuaranteeOf(queue, resource);
    if (!Within(guarantee, limit)) {
      Tell(i, "limit." + ToString(resource),
           "expected at least the guarantee of " + ShowAmount(resource, guarantee.value()) +
               ", found " + ShowAmount(resource, limit.value()));
    }
  }
  const Resource gpu{Resource::Kind::kGpu};
  const Amount by_model = GuaranteedByModel(queue);
  if (queue.guarantee.has(gpu) && queue.guarantee.of(gpu) < by_model) {
    Tell(i, "guarantee.gpu",
         "expected at least " + ShowAmount(gpu, by_model.value()) +
             ", which is guaranteed by model, found " +
             ShowAmount(gpu, queue.guarantee.of(gpu).value()));
  }
  if (by_model.value() > kMostAmount) {
    Tell(i, "guarantee",
         "expected at most " + ShowAmount(gpu, kMostAmount) + " GPUs of all models, found " +
             ShowAmount(gpu, by_model.value()));
  }
  for (const auto& [resource, most] : queue.lend.said()) {
    const Amount guarantee = GuaranteeOf(queue, resource);
    if (most.value() <= guarantee.value()) continue;
    Tell(i, "lend." + ToString(resource),
         "expected at most the guarantee of " + ShowAmount(resource, guarantee.value()) +
             ", found " + ShowAmount(resource, most.value()));
  }
  if (queue.fair_by == FairBy::kNamespace && !children_[i].empty()) {
    Tell(i, "fairBy",
         "expected none in a queue that has others below it (" +
             Quoted(queues_[children_[i].front()].name) + "), found namespace");
  }
  if (queue.order == Order::kStrictFifo && !children_[i].empty()) {
    Tell(i, "order",
         "expected fair or fifo in a queue that has others below it (" +
             Quoted(queues_[children_[i].front()].name) + "), found strict-fifo");
  }
}

// How many GPUs a node has is not known here; it is one at least. What is not guaranteed as GPUs
// cannot be had back from others (R5).
void FaultFinder::CheckShapes(size_t i) {
  const QueueSpec& queue = queues_[i];
  std::map<std::string, size_t> models;
  int64_t all = 0;
  for (size_t s = 0; s < queue.shapes.size(); ++s) {
    const Shape& shape = queue.shapes[s];
    const std::string field = "guarantee.shapes[" + std::to_string(s) + "]";
    const auto [first, fresh] = models.emplace(shape.model, s);
    if (!fresh) {
      Tell(i, field + ".model",
           "expected a model that no other shape of the queue has, found " + Quoted(shape.model) +
               " again (first as [" + std::to_string(first->second) + "])");
    }
    all += shape.whole_nodes;
    const Resource of_model{Resource::Kind::kGpuModel, shape.model};
    const int64_t least = shape.whole_nodes * 1000;
    if (shape.model.empty() || !queue.guarantee.has(of_model)) continue;
    if (queue.guarantee.of(of_model).value() >= least) continue;
    Tell(i, "guarantee." + ToString(of_model),
         "expected the GPUs of " + ToString(shape) + ", " + std::to_string(shape.whole_nodes) +
             " at least, found " + ShowAmount(of_model, queue.guarantee.of(of_model).value()));
  }
  const Resource gpu{Resource::Kind::kGpu};
  const int64_t guaranteed = GuaranteeOf(queue, gpu).value();
  if (queue.shapes.empty() || queue.name == kRoot || guaranteed >= all * 1000) return;
  Tell(i, "guarantee.shapes",
       "expected gpu beside it in the guarantee, with the GPUs of its " + std::to_string(all) +
           (all == 1 ? " node" : " nodes") + ", " + std::to_string(all) + " at least, found " +
           (guaranteed == 0 ? "none" : ShowAmount(gpu, guaranteed)));
}

// A queue that says nothing of a model's nodes covers those of the queues below by its GPUs.
void FaultFinder::CheckShapeSums(size_t i) {
  for (size_t s = 0; s < queues_[i].shapes.size(); ++s) {
    const Shape& own = queues_[i].shapes[s];
    int64_t sum = 0;
    std::string parts;
    for (const size_t child : children_[i]) {
      const int64_t part = WholeNodesOf(queues_[child], own.model);
      if (part == 0) continue;
      sum += part;
      parts += (parts.empty() ? "" : ", ") + queues_[child].name + " " + std::to_string(part);
    }
    if (sum <= own.whole_nodes) continue;
    Tell(i, "guarantee.shapes[" + std::to_string(s) + "].wholeNodes",
         "expected at least " + std::to_string(sum) + ", which queues below are guaranteed (" +
             parts + "), found " + std::to_string(own.whole_nodes));
  }
}

// Who is promised something can have it only if those around it are promised as much. (The root
// has the whole cluster, up to its limit.)
void FaultFinder::CheckSums(size_t i) {
  if (children_[i].empty()) return;
  const bool root = queues_[i].name == kRoot;
  std::set<Resource> all;
  for (const size_t child : children_[i]) {
    for (const auto& [resource, amount] : queues_[child].guarantee.said()) {
      all.insert(resource);
      if (resource.kind == Resource::Kind::kGpuModel) all.insert({Resource::Kind::kGpu});
    }
  }
  for (const Resource& resource : all) {
    Amount sum;
    std::string parts;
    for (const size_t child : children_[i]) {
      const Amount part = GuaranteeOf(queues_[child], resource);
      if (part.value() == 0) continue;
      sum += part;
      parts += (parts.empty() ? "" : ", ") + queues_[child].name + " " +
               ShowAmount(resource, part.value());
    }
    const Amount own =
        root ? Amount(queues_[i].limit.of(resource).value()) : GuaranteeOf(queues_[i], resource);
    if (sum <= own) continue;
    Tell(i, (root ? "limit." : "guarantee.") + ToString(resource),
         "expected at least " + ShowAmount(resource, sum.value()) +
             ", which queues below are guaranteed (" + parts + "), found " +
             (own.value() == 0 ? "nothing" : ShowAmount(resource, own.value())));
  }
}

// Namespaces that it names are asked for only where a queue below says none of its own.
void FaultFinder::CheckReach(size_t i) {
  if (children_[i].empty() || !SaysNamespaces(i)) return;
  std::vector<size_t> below = children_[i];
  while (!below.empty()) {
    const size_t one = below.back();
    below.pop_back();
    if (SaysNamespaces(one)) continue;
    if (children_[one].empty()) return;
    below.insert(below.end(), children_[one].begin(), children_[one].end());
  }
  Tell(i, "namespaces",
       "expected none, because every queue below names its own: no gang comes this way");
}

std::vector<Fault> FaultFinder::Find() {
  CheckNames();
  CheckParents();
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].name == kRoot) CheckRoot(i);
    CheckAmounts(i);
    CheckShapes(i);
    CheckShapeSums(i);
    CheckSums(i);
    CheckReach(i);
  }
  std::stable_sort(faults_.begin(), faults_.end(),
                   [](const Fault& a, const Fault& b) { return a.queue < b.queue; });
  return std::move(faults_);
}

}  // namespace

std::vector<Fault> FindFaults(const std::vector<QueueSpec>& queues) {
  return FaultFinder(queues).Find();
}

}  // namespace muster::queues
