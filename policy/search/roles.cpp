#include "policy/search/roles.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cluster/base/check.hpp"
#include "policy/search/pod_shape.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using cluster::PodSpec;

namespace {

// The roles with the largest key first.
template <typename Key>
void SortBy(std::vector<Role>& roles, const Key& key) {
  using Value = decltype(key(roles.front()));
  std::vector<std::pair<Value, size_t>> keyed;
  keyed.reserve(roles.size());
  for (size_t i = 0; i < roles.size(); ++i) keyed.emplace_back(key(roles[i]), i);
  std::sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    return CompareShapes(roles[a.second].spec(), roles[b.second].spec()) < 0;
  });
  std::vector<Role> sorted;
  sorted.reserve(roles.size());
  for (const auto& [value, i] : keyed) sorted.push_back(std::move(roles[i]));
  roles = std::move(sorted);
}

int64_t NodesFor(const Role& role, const Search& search) {
  int64_t nodes = 0;
  search.EachNode([&](NodeIndex node) {
    nodes += search.ScoreOn(*role.shape, node).has_value() ? 1 : 0;
    return true;
  });
  return nodes;
}

}  // namespace

std::vector<Role> RolesOf(const std::vector<Demand>& demands, ShapeMemory& memory) {
  std::vector<Role> roles;
  std::map<const PodSpec*, size_t, ShapeLess> role_of;
  for (size_t i = 0; i < demands.size(); ++i) {
    MUSTER_CHECK(demands[i].spec != nullptr);
    const auto [at, added] = role_of.try_emplace(demands[i].spec.get(), roles.size());
    if (added) roles.push_back({&memory.ShapeOf(demands[i].spec), {}});
    roles[at->second].members.push_back(i);
  }
  for (Role& role : roles) {
    std::stable_sort(role.members.begin(), role.members.end(), [&](size_t a, size_t b) {
      return demands[a].excluded.size() > demands[b].excluded.size();
    });
  }
  return roles;
}

void Sort(std::vector<Role>& roles, RoleOrder order, const Search& search) {
  switch (order) {
    case RoleOrder::kMostGpus:
      return SortBy(roles, [](const Role& role) {
        const PodSpec& spec = role.spec();
        return std::tuple(spec.gpus.total(), spec.requests.cpu, spec.requests.memory);
      });
    case RoleOrder::kFewestNodes:
      return SortBy(roles, [&](const Role& role) { return -NodesFor(role, search); });
    case RoleOrder::kMostCpu:
      return SortBy(roles, [](const Role& role) {
        const PodSpec& spec = role.spec();
        return std::tuple(spec.requests.cpu, spec.requests.memory, spec.gpus.total());
      });
  }
}

}  // namespace muster::policy
