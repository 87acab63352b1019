// BudgetWatch: who waits for PodDisruptionBudgets, and whether Muster may go over one (internal to
// engine/). Only records; guarded by Scheduler. A restart forgets it.
//
// 1. That a budget changed is of interest as long as a gang waits for what budgets keep (Await).
// 2. Where budgets give way a pod that one keeps is deleted. If the API server does not let Muster
//    delete pods budgets are a bar until then (ForbidDeletes).
#pragma once

#include <utility>

#include "cluster/base/units.hpp"

namespace muster::engine {

class BudgetWatch {
 public:
  void Await() { awaits_ = true; }
  // A gang did since it was asked last.
  bool TakeAwaited() { return std::exchange(awaits_, false); }

  void ForbidDeletes(cluster::Time until) { may_delete_from_ = until; }
  bool may_delete(cluster::Time now) const { return may_delete_from_ <= now; }
  cluster::Time may_delete_from() const { return may_delete_from_; }

 private:
  bool awaits_ = false;
  cluster::Time may_delete_from_;
};

}  // namespace muster::engine
