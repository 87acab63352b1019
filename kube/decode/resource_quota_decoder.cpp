// ResourceQuota (v1): the lines that pods of gangs are charged to.
#include <optional>
#include <string_view>
#include <utility>

#include "cluster/base/quantity.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::QuotaLine;
using cluster::ResourceQuota;
using cluster::Result;

namespace {

using Kind = QuotaLine::Kind;

// Limits of pods are not known to us, and objects that are no pods are nobody's here.
std::optional<Kind> KindOf(std::string_view resource) {
  if (resource == "pods" || resource == "count/pods") return Kind::kPods;
  if (resource == "requests.nvidia.com/gpu") return Kind::kGpus;
  if (resource == "cpu" || resource == "requests.cpu") return Kind::kCpu;
  if (resource == "memory" || resource == "requests.memory") return Kind::kMemory;
  return std::nullopt;
}

// What cannot be read is none.
std::optional<int64_t> AmountOf(Kind kind, const std::string& text, cluster::Round round) {
  constexpr int64_t kMilli = 1000;
  if (kind == Kind::kCpu) {
    const auto cpu = cluster::ParseCpu(text, round);
    return cpu.ok() ? std::optional(cpu->value()) : std::nullopt;
  }
  if (kind == Kind::kMemory) {
    const auto memory = cluster::ParseMemory(text, round);
    return memory.ok() ? std::optional(memory->value()) : std::nullopt;
  }
  const auto count = cluster::ParseCount(text);
  if (!count.ok()) return std::nullopt;
  return kind == Kind::kGpus ? *count * kMilli : *count;
}

// False: it is a scope of which nothing is known of a gang's pods, so the quota says nothing.
bool ReadScope(std::string_view scope, const JsonView* of, ResourceQuota* record) {
  if (scope == "NotBestEffort") return true;  // pods that ask for GPUs, CPU or memory
  if (scope != "PriorityClass" || of == nullptr) return false;
  cluster::SelectorRequirement wants;
  wants.key = "PriorityClass";
  const JsonView op = of->Get("operator");
  if (op.Text() != "In" && op.Text() != "NotIn") return false;
  wants.op = op.Text() == "In" ? cluster::SelectorOperator::kIn : cluster::SelectorOperator::kNotIn;
  const JsonView values = of->Get("values");
  values.Items([&](const JsonView& value) { wants.values.emplace_back(value.Text()); });
  record->priority_classes.push_back(std::move(wants));
  return true;
}

bool ReadScopes(const JsonView& spec, ResourceQuota* record) {
  bool known = true;
  const JsonView scopes = spec.Get("scopes");
  scopes.Items(
      [&](const JsonView& scope) { known = ReadScope(scope.Text(), nullptr, record) && known; });
  const JsonView selector = spec.Get("scopeSelector");
  const JsonView terms = selector.Get("matchExpressions");
  terms.Items([&](const JsonView& term) {
    const JsonView name = term.Get("scopeName");
    known = ReadScope(name.Text(), &term, record) && known;
  });
  return known;
}

}  // namespace

Result<ResourceQuota> DecodeResourceQuota(const JsonNode& json, const DecodeOptions& options) {
  JsonProblems problems;
  const JsonView object(json, "ResourceQuota", problems);
  const ObjectMeta meta =
      ReadObjectMeta(object, "ResourceQuota", Scope::kNamespace, Source::kApiServer);
  ResourceQuota record;
  record.uid = cluster::ResourceQuotaUid(meta.uid);
  record.key = meta.key;
  record.resource_version = meta.resource_version;
  const JsonView spec = object.Get("spec");
  const bool known = ReadScopes(spec, &record) && options.left_out == nullptr;
  // What is enforced is in the status; the spec may be newer.
  const JsonView status = object.Get("status");
  const JsonView hard = status.Get("hard");
  const JsonView used = status.Get("used");
  hard.Members([&](std::string_view resource, const JsonView& most) {
    const std::optional<Kind> kind = KindOf(resource);
    if (!kind || !known) return;
    const JsonView taken = used.Get(resource);
    const auto limit = AmountOf(*kind, most.QuantityText(), cluster::Round::kDown);
    const auto now =
        taken.present() ? AmountOf(*kind, taken.QuantityText(), cluster::Round::kUp) : std::nullopt;
    if (limit && now) record.lines.push_back({*kind, std::string(resource), *limit, *now});
  });
  if (!problems.none()) return problems.first();
  return record;
}

}  // namespace muster::kube
