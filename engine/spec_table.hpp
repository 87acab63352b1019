// SpecTable: one shared PodSpec per distinct value, so that equal roles are equal pointers
// (internal to engine/). Owned and guarded by Scheduler.
//
// 1. Equal values are one object, and have one id for as long as any pod has it.
// 2. Ids rise in the order in which values come and are never used again.
// 3. A restart forgets it; ids compare within one process only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "cluster/pod.hpp"

namespace muster::engine {

class SpecTable {
 public:
  // The shared spec equal to `spec`. Specs that nothing else refers to are dropped from time to
  // time.
  std::shared_ptr<const cluster::PodSpec> Intern(std::shared_ptr<const cluster::PodSpec> spec);
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
  void Sweep();

  std::map<const cluster::PodSpec*, Entry, ByValue> specs_;
  uint64_t next_id_ = 1;
  size_t sweep_at_ = 64;
};

}  // namespace muster::engine
