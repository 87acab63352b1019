// FindBudgetObstacle: whether PodDisruptionBudgets let all of these pods go together. The eviction
// API says it of one pod at a time, so a dry run of each passes where only one of them may go. And
// a pod that two of them select is refused with 500, like a fault that will pass.
//
// Reads the budgets of the pods' namespaces and, where there are any, the pods, `most` at a time
// and while `go_on` says so. What cannot be read is no obstacle: the API server has the last word.
// Blocks; throws nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/contract/actions.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::kube {

struct BudgetObstacle {
  cluster::PodUid pod;  // the first that may not go beside those before it
  std::string message;
};

// As the eviction API counts (k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go): pods
// that wait, have ended or are being deleted are not held to budgets; of the others a ready one
// takes one of `disruptionsAllowed`, and none may have two budgets.
std::optional<BudgetObstacle> FindBudgetObstacle(ApiCaller& api,
                                                 const std::vector<engine::PodRef>& pods,
                                                 const std::function<bool()>& go_on, int most);

}  // namespace muster::kube
