#include "engine/gangs/spec_table.hpp"

#include <algorithm>

#include "cluster/base/check.hpp"

namespace muster::engine {

std::shared_ptr<const cluster::PodSpec> SpecTable::Intern(
    std::shared_ptr<const cluster::PodSpec> spec) {
  if (!spec) spec = std::make_shared<const cluster::PodSpec>();
  const auto found = specs_.find(spec.get());
  if (found != specs_.end()) return found->second.spec;
  if (specs_.size() >= sweep_at_) Sweep();
  const cluster::PodSpec* key = spec.get();
  specs_.emplace(key, Entry{spec, next_id_++});
  return spec;
}

uint64_t SpecTable::IdOf(const cluster::PodSpec& spec) const {
  const auto found = specs_.find(&spec);
  MUSTER_CHECK(found != specs_.end());
  return found->second.id;
}

cluster::PodLabels SpecTable::Intern(const cluster::PodLabels& labels) {
  if (labels.empty()) return labels;
  if (labels_.size() >= sweep_labels_at_) {
    std::erase_if(labels_, [](const auto& label) { return label.use_count() == 1; });
    sweep_labels_at_ = std::max<size_t>(1024, 2 * labels_.size());
  }
  cluster::PodLabels::List shared;
  shared.reserve(labels.list().size());
  for (const auto& label : labels.list()) shared.push_back(*labels_.insert(label).first);
  return cluster::PodLabels(std::move(shared));
}

void SpecTable::Sweep() {
  for (auto it = specs_.begin(); it != specs_.end();) {
    it = it->second.spec.use_count() == 1 ? specs_.erase(it) : std::next(it);
  }
  sweep_at_ = std::max<size_t>(64, 2 * specs_.size());
}

}  // namespace muster::engine
