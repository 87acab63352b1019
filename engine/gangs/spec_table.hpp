// SpecTable: one shared PodSpec per distinct value, so that equal roles are equal pointers
// (internal to engine/). Owned and guarded by Scheduler.
//
// 1. Equal values are one object, and have one id for as long as any pod has it.
// 2. Ids rise in the order in which values come and are never used again.
// 3. A pod's labels are shared one by one: a list of pointers is left to each pod, 16 bytes for a
//    label. Pods of one template have nearly all of them in common.
// 4. A restart forgets it; ids compare within one process only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "cluster/records/pod.hpp"

namespace muster::engine {

class SpecTable {
 public:
  // The shared spec equal to `spec`. Specs that nothing else refers to are dropped from time to
  // time.
  std::shared_ptr<const cluster::PodSpec> Intern(std::shared_ptr<const cluster::PodSpec> spec);
  // The same labels, of which equal ones are one object for all pods.
  cluster::PodLabels Intern(const cluster::PodLabels& labels);
  // Number of an interned spec, stable as long as it is interned; never given twice.
  uint64_t IdOf(const cluster::PodSpec& spec) const;
  size_t size() const { return specs_.size(); }

 private:
  struct ByValue {
    bool operator()(const cluster::PodSpec* a, const cluster::PodSpec* b) const { return *a < *b; }
  };
  struct Entry {
    std::shared_ptr<const cluster::PodSpec> spec;
    uint64_t id = 0;
  };
  struct LabelLess {
    using Shared = std::shared_ptr<const cluster::PodLabel>;
    bool operator()(const Shared& a, const Shared& b) const { return *a < *b; }
  };
  void Sweep();

  std::set<std::shared_ptr<const cluster::PodLabel>, LabelLess> labels_;
  size_t sweep_labels_at_ = 1024;
  std::map<const cluster::PodSpec*, Entry, ByValue> specs_;
  uint64_t next_id_ = 1;
  size_t sweep_at_ = 64;
};

}  // namespace muster::engine
