#include "queues/tree.hpp"

#include <algorithm>
#include <set>

#include "cluster/base/check.hpp"

namespace muster::queues {

namespace {

using Kind = Resource::Kind;

// Positions in Tree::resources() of those that are always there.
constexpr size_t kGpuMemory = 1;
constexpr size_t kCpu = 2;
constexpr size_t kMemory = 3;

// Between the name of a queue, which has none in it, and that of a namespace.
constexpr char kBelow = '/';

PreemptionSpec Inherit(PreemptionSpec own, const PreemptionSpec& above) {
  if (own.within_queue == WithinQueue::kInherit) own.within_queue = above.within_queue;
  if (own.reclaim == Reclaim::kInherit) own.reclaim = above.reclaim;
  if (own.on_evicted == OnEvicted::kInherit) own.on_evicted = above.on_evicted;
  const auto inherit = [&](int64_t PreemptionSpec::*field) {
    if (own.*field == PreemptionSpec::kInherit) own.*field = above.*field;
  };
  inherit(&PreemptionSpec::delay);
  inherit(&PreemptionSpec::min_runtime_preempt);
  inherit(&PreemptionSpec::min_runtime_reclaim);
  inherit(&PreemptionSpec::max_evictions_per_hour);
  inherit(&PreemptionSpec::max_evicted_ratio);
  inherit(&PreemptionSpec::restart_window);
  for (Budgets PreemptionSpec::*field :
       {&PreemptionSpec::budgets_preempt, &PreemptionSpec::budgets_guarantee,
        &PreemptionSpec::budgets_fair_share}) {
    if (own.*field == Budgets::kInherit) own.*field = above.*field;
  }
  return own;
}

// What the queue says of bookings; the rest stays as it is.
void Say(const BookingRules& rules, BookingTerms& terms) {
  const auto say = [](const auto& said, auto& term) { term = said.value_or(term); };
  say(rules.depth, terms.depth);
  say(rules.min_age, terms.min_age);
  say(rules.reserve_after, terms.reserve_after);
  say(rules.reserve_for, terms.reserve_for);
  say(rules.lend_to_evictable, terms.lend_to_evictable);
  say(rules.without_checkpoint, terms.without_checkpoint);
  say(rules.trust, terms.trust);
  say(rules.max_per_user, terms.max_per_user);
}

}  // namespace

Tree::Tree(const std::vector<QueueSpec>& queues) {
  MUSTER_CHECK(FindFaults(queues).empty());
  AddResources(queues);
  QueueSpec root{.name = kRoot};
  std::map<std::string, std::vector<const QueueSpec*>> below;
  for (const QueueSpec& spec : queues) {
    if (spec.name == kRoot) {
      root = spec;
    } else {
      below[spec.parent.empty() ? kRoot : spec.parent].push_back(&spec);
    }
  }
  AddQueue(root, kRootIndex);
  for (uint32_t i = 0; i < queues_.size(); ++i) {
    for (const QueueSpec* child : below[queues_[i]->name]) AddQueue(*child, QueueIndex{i});
  }
  Names names;
  std::vector<std::vector<QueueIndex>> children(queues_.size());
  for (uint32_t i = 0; i < queues_.size(); ++i) {
    names[queues_[i]->name] = QueueIndex{i};
    if (i > 0) children[queues_[i]->parent.value].push_back(QueueIndex{i});
  }
  by_name_ = std::make_shared<const Names>(std::move(names));
  if (queues_.size() > 1 || queues_.front()->by_namespace) {
    orphan_ = QueueIndex{static_cast<uint32_t>(queues_.size())};
    AddQueue({.name = kOrphan, .weight = 0}, kRootIndex);
    children.front().push_back(orphan_);
  }
  for (uint32_t i = 0; i < children.size(); ++i) SetChildren(QueueIndex{i}, std::move(children[i]));
}

void Tree::SetChildren(QueueIndex queue, std::vector<QueueIndex> children) {
  Queue now = at(queue);
  now.children = std::move(children);
  queues_[queue.value] = std::make_shared<const Queue>(std::move(now));
}

void Tree::AddResources(const std::vector<QueueSpec>& queues) {
  resources_ = {{Kind::kGpu}, {Kind::kGpuMemory}, {Kind::kCpu}, {Kind::kMemory}};
  std::set<Resource> models;
  const auto add = [&](const Resource& resource) {
    if (resource.kind == Kind::kGpuModel) models.insert(resource);
  };
  for (const QueueSpec& queue : queues) {
    for (const auto& [resource, amount] : queue.guarantee.said()) add(resource);
    for (const Shape& shape : queue.shapes) {
      if (!shape.model.empty()) add({Kind::kGpuModel, shape.model});
    }
    for (const auto& [resource, amount] : queue.lend.said()) add(resource);
    for (const auto& [resource, amount] : queue.limit.said()) add(resource);
    for (const auto& [resource, weight] : queue.resource_weights) add(resource);
  }
  resources_.insert(resources_.end(), models.begin(), models.end());
  guaranteed_.assign(resources_.size(), false);
}

void Tree::AddQueue(const QueueSpec& spec, QueueIndex parent) {
  Queue queue;
  queue.name = spec.name;
  queue.parent = parent;
  queue.depth = queues_.empty() ? 0 : at(parent).depth + 1;
  queue.shapes = spec.shapes;
  shaped_ = shaped_ || !spec.shapes.empty();
  queue.weight = spec.weight;
  queue.order = spec.order;
  queue.by_namespace = spec.fair_by == FairBy::kNamespace;
  queue.state = spec.state;
  queue.state_of = spec.name;
  queue.priority_cap = spec.priority_cap.value_or(INT64_MAX);
  queue.open = spec.namespaces.empty() && !spec.selector;
  queue.namespaces = spec.namespaces;
  queue.selector = spec.selector;
  const Queue* above = queues_.empty() ? nullptr : &at(parent);
  queue.preemption =
      Inherit(spec.preemption, above == nullptr ? kPreemptionDefaults : above->preemption);
  for (size_t r = 0; r < resources_.size(); ++r) {
    const Resource& resource = resources_[r];
    const int64_t guarantee = GuaranteeOf(spec, resource).value();
    queue.guarantee.push_back(guarantee);
    guaranteed_[r] = guaranteed_[r] || guarantee > 0;
    guarantees_any_ = guarantees_any_ || guarantee > 0;
    queue.unlent.push_back(guarantee - std::min(guarantee, spec.lend.of(resource).value()));
    keeps_any_ = keeps_any_ || queue.unlent.back() > 0;
    queue.limit.push_back(spec.limit.of(resource).value());
    bounds_ = bounds_ || queue.guarantee.back() > 0 || queue.limit.back() < INT64_MAX;
    const auto weight = spec.resource_weights.find(resource);
    const int64_t inherited = above == nullptr ? 1 : above->resource_weights[r];
    queue.resource_weights.push_back(weight == spec.resource_weights.end() ? inherited
                                                                           : weight->second);
  }
  if (above != nullptr) queue.usage_half_life = above->usage_half_life;
  queue.usage_half_life = spec.usage_half_life.value_or(queue.usage_half_life);
  remembers_ = remembers_ || queue.usage_half_life > cluster::Duration(0);
  if (above != nullptr) queue.bookings = above->bookings;
  Say(spec.bookings, queue.bookings);
  books_ = books_ || queue.bookings.depth > 0;
  if (above != nullptr) {
    queue.priority_cap = std::min(queue.priority_cap, above->priority_cap);
    if (above->state >= queue.state) {
      queue.state = above->state;
      queue.state_of = above->state_of;
    }
    if (queue.open) {
      queue.open = above->open;
      queue.namespaces = above->namespaces;
      queue.selector = above->selector;
    }
  }
  queues_.push_back(std::make_shared<const Queue>(std::move(queue)));
}

std::optional<QueueIndex> Tree::Find(std::string_view name) const {
  if (const auto found = by_name_->find(name); found != by_name_->end()) return found->second;
  const size_t slash = name.rfind(kBelow);
  if (slash == std::string_view::npos) return std::nullopt;
  const auto above = by_name_->find(name.substr(0, slash));
  if (above == by_name_->end()) return std::nullopt;
  return FindNamespace(above->second, name.substr(slash + 1));
}

std::vector<std::string> Tree::Named() const {
  std::vector<std::string> names;
  for (const auto& [name, index] : *by_name_) {
    if (at(index).named()) names.push_back(name);
  }
  return names;
}

std::optional<QueueIndex> Tree::FindNamespace(QueueIndex queue, std::string_view ns) const {
  if (!at(queue).by_namespace) return std::nullopt;
  const std::vector<QueueIndex>& children = at(queue).children;
  const auto found = std::lower_bound(
      children.begin(), children.end(), ns,
      [&](QueueIndex child, std::string_view name) { return at(child).of_namespace < name; });
  if (found == children.end() || at(*found).of_namespace != ns) return std::nullopt;
  return *found;
}

std::shared_ptr<const Tree> Tree::WithNamespace(QueueIndex queue, const std::string& ns) const {
  MUSTER_CHECK(at(queue).by_namespace && !FindNamespace(queue, ns));
  const Queue& above = at(queue);
  const Vector none(resources_.size());
  Queue child = above;
  child.name = above.name + kBelow + ns;
  child.parent = queue;
  child.depth = above.depth + 1;
  child.children.clear();
  child.guarantee = none;
  child.shapes.clear();
  child.unlent = none;
  child.limit.assign(resources_.size(), INT64_MAX);
  child.weight = 1;
  child.by_namespace = false;
  child.of_namespace = ns;

  auto tree = std::make_shared<Tree>(*this);
  QueueIndex index{static_cast<uint32_t>(queues_.size())};
  if (unused_.empty()) {
    tree->queues_.emplace_back();
  } else {
    index = unused_.back();
    tree->unused_.pop_back();
  }
  std::vector<QueueIndex> children = above.children;
  const auto place = std::find_if(children.begin(), children.end(),
                                  [&](QueueIndex other) { return at(other).of_namespace > ns; });
  children.insert(place, index);
  tree->queues_[index.value] = std::make_shared<const Queue>(std::move(child));
  tree->SetChildren(queue, std::move(children));
  return tree;
}

std::shared_ptr<const Tree> Tree::WithoutNamespace(QueueIndex of_namespace) const {
  MUSTER_CHECK(!at(of_namespace).of_namespace.empty() && !at(of_namespace).name.empty());
  auto tree = std::make_shared<Tree>(*this);
  Queue nobody = at(of_namespace);
  nobody.name.clear();
  std::vector<QueueIndex> children = at(nobody.parent).children;
  std::erase(children, of_namespace);
  tree->SetChildren(nobody.parent, std::move(children));
  tree->queues_[of_namespace.value] = std::make_shared<const Queue>(std::move(nobody));
  tree->unused_.push_back(of_namespace);
  return tree;
}

std::vector<QueueIndex> Tree::PathOf(QueueIndex below) const {
  std::vector<QueueIndex> path = {below};
  while (path.back() != kRootIndex) path.push_back(at(path.back()).parent);
  return path;
}

std::optional<Tree::Branches> Tree::Diverge(QueueIndex x, QueueIndex y) const {
  if (x == y) return std::nullopt;
  while (at(x).depth > at(y).depth && at(x).parent != y) x = at(x).parent;
  while (at(y).depth > at(x).depth && at(y).parent != x) y = at(y).parent;
  while (at(x).parent != at(y).parent) {
    x = at(x).parent;
    y = at(y).parent;
  }
  return Branches{x, y};
}

bool Tree::names_models() const { return resources_.size() > kMemory + 1; }

Vector Tree::Dense(const cluster::Usage& usage) const {
  Vector dense(resources_.size());
  dense[kGpu] = usage.gpu_milli;
  dense[kGpuMemory] = usage.gpu_memory.value();
  dense[kCpu] = usage.requests.cpu.value();
  dense[kMemory] = usage.requests.memory.value();
  if (!names_models()) return dense;
  for (const auto& [device, milli] : usage.gpu_milli_by_model) {
    if (const std::optional<size_t> model = ModelOf(device)) dense[*model] += milli;
  }
  return dense;
}

std::optional<size_t> Tree::ModelOf(std::string_view device) const {
  std::optional<size_t> best;
  for (size_t r = kMemory + 1; r < resources_.size(); ++r) {
    const bool longer = !best || resources_[*best].model.size() < resources_[r].model.size();
    if (longer && IsOfModel(device, resources_[r].model)) best = r;
  }
  return best;
}

}  // namespace muster::queues
