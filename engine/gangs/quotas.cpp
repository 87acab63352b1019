#include "engine/gangs/quotas.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cluster/holdings/cluster_state.hpp"
#include "engine/gangs/minimum.hpp"
#include "queues/resource.hpp"

namespace muster::engine {

using cluster::QuotaLine;
using cluster::ResourceQuota;
using cluster::ResourceQuotaUid;

namespace {

// By QuotaLine::Kind.
using Ask = std::array<int64_t, 4>;

Ask AskOf(const cluster::PodSpec& spec) {
  const bool whole = !spec.gpus.none() && spec.gpus.whole();
  return {1, whole ? spec.gpus.total().value() : 0, spec.requests.cpu.value(),
          spec.requests.memory.value()};
}

Ask Least(const std::optional<Ask>& a, const Ask& b) {
  if (!a) return b;
  Ask least = b;
  for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], (*a)[i]);
  return least;
}

void Add(Ask& sum, const Ask& each, int64_t times) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += each[i] * times;
}

// What so many members ask for that do not exist; a role of which none is known counts as pods
// alone.
Ask AskedBy(const Gang& gang, const cluster::Headcount& heads) {
  std::map<std::string, Ask> of_role;
  std::optional<Ask> of_any;
  for (const auto& [uid, member] : gang.members) {
    const Ask ask = AskOf(*member.pod->spec);
    const auto [at, fresh] = of_role.try_emplace(cluster::WholeRole(member.pod->role), ask);
    if (!fresh) at->second = Least(at->second, ask);
    of_any = Least(of_any, ask);
  }
  Ask sum{};
  int64_t left = heads.members;
  const Ask one_pod{1, 0, 0, 0};
  for (const auto& [role, count] : heads.roles) {
    const auto known = of_role.find(cluster::WholeRole(role));
    Add(sum, known == of_role.end() ? one_pod : known->second, count);
    left -= count;
  }
  const bool by_role = !gang.minimum.roles.empty();
  if (left > 0) Add(sum, by_role || !of_any ? one_pod : *of_any, left);
  return sum;
}

// Its pods are counted by the quota; those of the gang have one PriorityClass, as far as a
// priority tells it.
bool CountsInScope(const ResourceQuota& quota, const cluster::ClusterState& cluster,
                   const Gang& gang) {
  if (gang.members.empty()) return quota.priority_classes.empty();
  const int32_t priority = gang.members.begin()->second.pod->spec->priority;
  return std::all_of(quota.priority_classes.begin(), quota.priority_classes.end(),
                     [&](const cluster::SelectorRequirement& wants) {
                       const bool named = std::any_of(
                           wants.values.begin(), wants.values.end(), [&](const std::string& name) {
                             const cluster::PriorityClass* known = cluster.FindPriorityClass(name);
                             return known != nullptr && known->value == priority;
                           });
                       return named == (wants.op == cluster::SelectorOperator::kIn);
                     });
}

std::string Show(QuotaLine::Kind kind, int64_t amount) {
  switch (kind) {
    case QuotaLine::Kind::kPods:
      break;
    case QuotaLine::Kind::kGpus:
      return ShowAmount(queues::Resource{queues::Resource::Kind::kGpu}, amount);
    case QuotaLine::Kind::kCpu:
      return ShowAmount(queues::Resource{queues::Resource::Kind::kCpu}, amount);
    case QuotaLine::Kind::kMemory:
      return ShowAmount(queues::Resource{queues::Resource::Kind::kMemory}, amount);
  }
  return std::to_string(amount);
}

}  // namespace

bool Quotas::Upsert(ResourceQuota quota) {
  OfNamespace& of = quotas_[quota.key.ns];
  // One that has its name now has taken its place.
  std::erase_if(of, [&](const auto& entry) {
    return entry.first != quota.uid && entry.second.key == quota.key;
  });
  ResourceQuota& known = of[quota.uid];
  const bool same = known.lines == quota.lines && known.key == quota.key &&
                    known.priority_classes == quota.priority_classes;
  known = std::move(quota);
  return !same;
}

std::string Quotas::Remove(const ResourceQuotaUid& uid) {
  for (auto of = quotas_.begin(); of != quotas_.end(); ++of) {
    if (of->second.erase(uid) == 0) continue;
    std::string ns = of->first;
    if (of->second.empty()) quotas_.erase(of);
    return ns;
  }
  return {};
}

const Quotas::OfNamespace* Quotas::Of(const std::string& ns) const {
  if (quotas_.empty()) return nullptr;
  const auto found = quotas_.find(ns);
  return found == quotas_.end() ? nullptr : &found->second;
}

Reason QuotaBar(const Quotas& quotas, const cluster::ClusterState& cluster, const Gang& gang) {
  const Quotas::OfNamespace* of = quotas.Of(gang.id.key.ns);
  const int64_t lacks = of == nullptr ? 0 : Need(gang, Counting::kPresent);
  if (lacks <= 0) return {};
  cluster::Headcount missing = Lacking(gang);
  missing.members = lacks;
  for (auto& entry_of_role : missing.roles) {
    const std::string& role = entry_of_role.first;
    int64_t& count = entry_of_role.second;
    count -= std::min<int64_t>(
        count, std::count_if(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
          const Member& member = entry.second;
          return member.pod->role == role && IsThere(member, Counting::kPresent) &&
                 !CountsAsBound(member);
        }));
  }
  const Ask more = AskedBy(gang, missing);
  const Ask all = AskedBy(gang, gang.minimum);
  for (const auto& [uid, quota] : *of) {
    if (!CountsInScope(quota, cluster, gang)) continue;
    for (const QuotaLine& line : quota.lines) {
      const auto kind = static_cast<size_t>(line.kind);
      if (more[kind] == 0 || line.used + more[kind] <= line.hard) continue;
      std::string text = "ResourceQuota " + quota.key.name + ", " + line.resource + ": used " +
                         Show(line.kind, line.used) + " of " + Show(line.kind, line.hard) + ", " +
                         std::to_string(lacks) +
                         (lacks == 1 ? " missing pod asks" : " missing pods ask") + " for " +
                         Show(line.kind, more[kind]);
      if (all[kind] > line.hard) {
        text += "; its minimum asks for " + Show(line.kind, all[kind]) +
                ", more than the quota ever lets it have";
      }
      const int64_t need = gang.minimum.members;
      return Because(ReasonCode::kResourceQuota, need - lacks, need, std::move(text));
    }
  }
  return {};
}

}  // namespace muster::engine
