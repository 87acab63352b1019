#include "kube/write/budget_check.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kube/api/at_a_time.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/write/pod_writes.hpp"

namespace muster::kube {
namespace {

using cluster::DisruptionBudget;
using cluster::Labels;
using cluster::Result;

constexpr size_t kMaxListBytes = size_t{16} << 20;
constexpr std::chrono::milliseconds kListTimeout{4'000};

std::vector<DisruptionBudget> BudgetsOf(ApiCaller& api, const std::string& ns) {
  std::vector<DisruptionBudget> budgets;
  const Result<ApiReply> reply =
      api.Call({.path = "/apis/policy/v1/namespaces/" + ns + "/poddisruptionbudgets",
                .timeout = kListTimeout});
  if (!reply.ok() || !reply->ok()) return budgets;
  const Result<Json> json = Json::Parse(reply->body, kMaxListBytes, "budgets");
  if (!json.ok()) return budgets;
  JsonProblems problems;
  const JsonView root(json->root(), "budgets", problems);
  const JsonView items = root.Get("items");
  items.Items([&](const JsonView& item) {
    Result<DisruptionBudget> budget = DecodeDisruptionBudget(item.node());
    if (budget.ok()) budgets.push_back(*std::move(budget));
  });
  return budgets;
}

struct HeldToBudgets {
  Labels labels;
  bool ready = false;
};

// Nothing of a pod that is not.
std::optional<HeldToBudgets> Read(ApiCaller& api, const engine::PodRef& pod) {
  const Result<ApiReply> reply = api.Call(GetPod(pod));
  if (!reply.ok() || !reply->ok()) return std::nullopt;
  const Result<Json> json = Json::Parse(reply->body, DecodeOptions{}.max_bytes, "pod");
  if (!json.ok()) return std::nullopt;
  JsonProblems problems;
  const JsonView object(json->root(), "pod", problems);
  const JsonView metadata = object.Get("metadata");
  const JsonView status = object.Get("status");
  const JsonView phase = status.Get("phase");
  const JsonView deleted = metadata.Get("deletionTimestamp");
  const std::string_view at = phase.Text();
  if (at == "Pending" || at == "Succeeded" || at == "Failed" || deleted.present())
    return std::nullopt;
  const JsonView conditions = status.Get("conditions");
  HeldToBudgets held;
  conditions.Items([&](const JsonView& condition) {
    const JsonView type = condition.Get("type");
    const JsonView value = condition.Get("status");
    held.ready = held.ready || (type.Text() == "Ready" && value.Text() == "True");
  });
  const JsonView labels = metadata.Get("labels");
  held.labels = labels.TextMap();
  return held;
}

bool Selects(const DisruptionBudget& budget, const Labels& labels) {
  return budget.selector &&
         std::all_of(budget.selector->begin(), budget.selector->end(),
                     [&](const auto& requirement) { return Matches(requirement, labels); });
}

// Takes the pod off what its budget allows.
std::optional<BudgetObstacle> Count(const engine::PodRef& pod, const HeldToBudgets& held,
                                    std::vector<DisruptionBudget>& budgets) {
  const DisruptionBudget* first = nullptr;
  for (DisruptionBudget& budget : budgets) {
    if (!Selects(budget, held.labels)) continue;
    if (first != nullptr) {
      return BudgetObstacle{pod.uid, "pod " + pod.key.ToString() +
                                         " has two PodDisruptionBudgets, " + first->key.name +
                                         " and " + budget.key.name +
                                         ": Kubernetes evicts no such pod"};
    }
    first = &budget;
    if (!held.ready || --budget.disruptions_allowed >= 0) continue;
    return BudgetObstacle{pod.uid, "PodDisruptionBudget " + budget.key.ToString() +
                                       " does not let pod " + pod.key.name + " go"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<BudgetObstacle> FindBudgetObstacle(ApiCaller& api,
                                                 const std::vector<engine::PodRef>& pods,
                                                 const std::function<bool()>& go_on, int most) {
  std::map<std::string, std::vector<DisruptionBudget>> budgets;
  for (const engine::PodRef& pod : pods) {
    const auto [at, added] = budgets.try_emplace(pod.key.ns);
    if (added && go_on()) at->second = BudgetsOf(api, pod.key.ns);
  }
  std::vector<std::optional<HeldToBudgets>> held(pods.size());
  DoAtATime(pods.size(), most, [&](size_t i) {
    if (!budgets.at(pods[i].key.ns).empty() && go_on()) held[i] = Read(api, pods[i]);
  });
  for (size_t i = 0; i < pods.size(); ++i) {
    if (!held[i]) continue;
    std::optional<BudgetObstacle> found = Count(pods[i], *held[i], budgets.at(pods[i].key.ns));
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace muster::kube
