#include "sim/replay/job_owners.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "queues/tree.hpp"

namespace muster::sim {

using cluster::Result;
using cluster::Status;
using cluster::TaintEffect;
using cluster::Toleration;

namespace {

enum OwnerColumn : size_t { kNamespace, kUser, kQueueName, kVirtualClusterName, kTolerations };

void SetNamespace(const std::string& ns, TraceJob& job) {
  for (PodRecord& pod : job.pods) pod.pod.key.ns = ns;
}

// As Kubernetes names namespaces.
bool IsLabel(std::string_view text) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && inner(text.front()) && inner(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return inner(c) || c == '-'; });
}

std::optional<TaintEffect> EffectOf(std::string_view text) {
  if (text == "NoSchedule") return TaintEffect::kNoSchedule;
  if (text == "PreferNoSchedule") return TaintEffect::kPreferNoSchedule;
  if (text == "NoExecute") return TaintEffect::kNoExecute;
  return std::nullopt;
}

// KEY[=VALUE][:EFFECT]
std::optional<Toleration> TolerationOf(std::string_view text) {
  Toleration toleration;
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const std::optional<TaintEffect> effect = EffectOf(text.substr(colon + 1));
    if (!effect) return std::nullopt;
    toleration.every_effect = false;
    toleration.effect = *effect;
  }
  const std::string_view taint = text.substr(0, colon);
  const size_t equals = taint.find('=');
  if (taint.substr(0, equals).empty()) return std::nullopt;
  toleration.op =
      equals == std::string_view::npos ? Toleration::Op::kExists : Toleration::Op::kEqual;
  if (taint != "*") toleration.key = taint.substr(0, equals);
  if (equals != std::string_view::npos) toleration.value = taint.substr(equals + 1);
  return toleration;
}

Status ReadTolerations(const CsvFile& csv, size_t row, size_t column, TraceJob& job) {
  std::string_view rest = csv.Text(row, column);
  std::vector<Toleration> read;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    std::optional<Toleration> toleration = TolerationOf(item);
    if (!toleration) {
      return csv.ErrorAt(row, column,
                         "expected KEY, KEY=VALUE or *, with :NoSchedule, :PreferNoSchedule or "
                         ":NoExecute if only that, several with ';' in between, found \"" +
                             std::string(item) + "\"");
    }
    read.push_back(*std::move(toleration));
  }
  if (read.empty()) return cluster::Ok{};
  for (PodRecord& pod : job.pods) {
    cluster::PodSpec spec = *pod.pod.spec;
    spec.constraints.tolerations.insert(spec.constraints.tolerations.end(), read.begin(),
                                        read.end());
    pod.pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
  }
  return cluster::Ok{};
}

}  // namespace

std::vector<std::string> OwnerColumns() {
  return {"namespace", "user", "queue", "vc", "tolerations"};
}

Status ReadOwner(const CsvFile& csv, size_t row, size_t first, TraceJob& job) {
  job.ns = csv.Text(row, first + kNamespace);
  if (!job.ns.empty() && !IsLabel(job.ns)) {
    return csv.ErrorAt(
        row, first + kNamespace,
        "expected lower-case letters, digits and '-', at most 63, found \"" + job.ns + "\"");
  }
  job.user = csv.Text(row, first + kUser);
  job.queue = csv.Text(row, first + kQueueName);
  if (job.queue.empty()) job.queue = csv.Text(row, first + kVirtualClusterName);
  if (!job.ns.empty()) SetNamespace(job.ns, job);
  return ReadTolerations(csv, row, first + kTolerations, job);
}

std::vector<Toleration> RecommendedTolerations() {
  // nvidia.com/gpu: GKE, EKS, OKE, and what ExtendedResourceToleration adds; sku=gpu: AKS.
  return {Toleration{"nvidia.com/gpu", Toleration::Op::kExists, ""},
          Toleration{"sku", Toleration::Op::kEqual, "gpu"}};
}

void PutInNamespaces(const std::vector<queues::QueueSpec>& queues,
                     const std::vector<std::string>& allowed, std::vector<TraceJob>& jobs) {
  const queues::Tree tree(queues);
  const auto may = [&](const std::string& ns) {
    return allowed.empty() || std::find(allowed.begin(), allowed.end(), ns) != allowed.end();
  };
  for (TraceJob& job : jobs) {
    if (!job.ns.empty()) continue;
    std::vector<std::string> candidates;
    if (const auto queue = tree.Find(job.queue); queue && !job.queue.empty())
      candidates = tree.at(*queue).namespaces;
    candidates.emplace_back(kDefaultNamespace);
    candidates.insert(candidates.end(), allowed.begin(), allowed.end());
    const auto found = std::find_if(candidates.begin(), candidates.end(), may);
    SetNamespace(found == candidates.end() ? kDefaultNamespace : *found, job);
  }
}

}  // namespace muster::sim
