#include "kube/topology_subgroups.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "kube/topology_level.hpp"

namespace muster::kube {

using cluster::TopologySubgroup;

namespace {

std::vector<std::string> Sorted(std::vector<std::string> roles) {
  std::sort(roles.begin(), roles.end());
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  return roles;
}

// Those that say something, the ones with the most roles first.
std::vector<TopologySubgroup> Arranged(const JsonView& place,
                                       std::vector<TopologySubgroup> subgroups) {
  std::erase_if(subgroups, [](const TopologySubgroup& one) {
    return one.roles.empty() ||
           (one.required.empty() && one.preferred.empty() && one.segments.empty());
  });
  if (subgroups.size() > kMaxSubgroups) {
    place.Problem("more than " + std::to_string(kMaxSubgroups) + " subgroups with a level");
    return {};
  }
  std::stable_sort(subgroups.begin(), subgroups.end(),
                   [](const TopologySubgroup& a, const TopologySubgroup& b) {
                     return a.roles.size() != b.roles.size() ? a.roles.size() > b.roles.size()
                                                             : a.roles < b.roles;
                   });
  return subgroups;
}

// The part before the separator, which is taken off the rest.
std::string_view Next(std::string_view& rest, char separator) {
  const std::string_view item = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(rest.size(), item.size() + 1));
  return item;
}

using ByRoles = std::map<std::vector<std::string>, TopologySubgroup>;

// `level`: the field that this annotation fills.
void ReadRoleList(const JsonView& annotation, std::string TopologySubgroup::*level,
                  ByRoles& subgroups) {
  std::string_view rest = annotation.Text();
  while (!rest.empty()) {
    const std::string_view item = Next(rest, ',');
    const size_t equals = item.find('=');
    std::string_view names = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    const std::string name(names);
    std::vector<std::string> roles;
    const bool cut_off = name.ends_with('+') || (rest.empty() && annotation.Text().ends_with(','));
    while (!names.empty()) roles.emplace_back(Next(names, '+'));
    roles = Sorted(std::move(roles));
    if (equals == 0 || roles.empty() || roles.front().empty() || cut_off) {
      annotation.Problem("expected LEVEL=ROLE or LEVEL=ROLE+ROLE, separated by commas, got \"" +
                         std::string(item.substr(0, 80)) + "\"");
      return;
    }
    TopologySubgroup& one =
        subgroups.try_emplace(roles, TopologySubgroup{name, roles}).first->second;
    if (!(one.*level).empty()) {
      annotation.Problem("names a level of " + name + " twice");
      return;
    }
    one.*level = std::string(item.substr(0, std::min(equals, kMaxLevelName)));
  }
}

// Of KAI's: by name, in the order of the list.
struct KaiSubgroup {
  std::string name;
  std::string parent;
  TopologySubgroup said;
  bool has_children = false;
};

}  // namespace

VolcanoTier ReadVolcanoTier(const JsonView& topology) {
  const JsonView name = topology.Get("highestTierName");
  const JsonView tier = topology.Get("highestTierAllowed");
  const int64_t number = tier.Integer(1, 1, kMaxSegment);
  return {name.Text().empty() ? NameOfTier(number) : ReadLevel(name),
          topology.Get("mode").Text() != "soft"};
}

std::vector<TopologySubgroup> ReadRoles(const JsonView& annotations) {
  const JsonView required = annotations.Get(cluster::kRolesRequiredAnnotation);
  const JsonView preferred = annotations.Get(cluster::kRolesPreferredAnnotation);
  ByRoles by_roles;
  ReadRoleList(required, &TopologySubgroup::required, by_roles);
  ReadRoleList(preferred, &TopologySubgroup::preferred, by_roles);
  std::vector<TopologySubgroup> subgroups;
  subgroups.reserve(by_roles.size());
  for (auto& [roles, subgroup] : by_roles) subgroups.push_back(std::move(subgroup));
  return Arranged(required.present() ? required : preferred, std::move(subgroups));
}

// A parent that is missing, or is around itself, is a defect that pod_group_decoder.cpp tells of.
std::vector<TopologySubgroup> ReadKaiSubgroups(const JsonView& spec) {
  const JsonView list = spec.Get("subGroups");
  std::map<std::string, KaiSubgroup> by_name;
  list.Items([&](const JsonView& group) {
    const JsonView constraint = group.Get("topologyConstraint");
    KaiSubgroup one;
    one.name = group.Get("name").Text();
    one.parent = group.Get("parent").Text();
    one.said.name = one.name;
    one.said.required = ReadLevel(constraint.Get("requiredTopologyLevel"));
    one.said.preferred = ReadLevel(constraint.Get("preferredTopologyLevel"));
    by_name.try_emplace(one.name, std::move(one));
  });
  for (const auto& [name, one] : by_name) {
    if (const auto parent = by_name.find(one.parent); parent != by_name.end())
      parent->second.has_children = true;
  }
  for (const auto& [name, one] : by_name) {
    if (one.has_children) continue;
    auto around = by_name.find(name);
    for (size_t depth = 0; around != by_name.end() && depth < by_name.size(); ++depth) {
      around->second.said.roles.push_back(name);
      around = by_name.find(around->second.parent);
    }
  }
  std::vector<TopologySubgroup> subgroups;
  subgroups.reserve(by_name.size());
  for (auto& [name, one] : by_name) {
    one.said.roles = Sorted(std::move(one.said.roles));
    subgroups.push_back(std::move(one.said));
  }
  return Arranged(list, std::move(subgroups));
}

std::vector<TopologySubgroup> ReadVolcanoSubgroups(const JsonView& spec) {
  const JsonView list = spec.Get("subGroupPolicy");
  std::vector<TopologySubgroup> subgroups;
  list.Items([&](const JsonView& policy) {
    const JsonView topology = policy.Get("networkTopology");
    if (!topology.present()) return;
    const JsonView selector = policy.Get("labelSelector");
    const JsonView labels = selector.Get("matchLabels");
    const JsonView keys = policy.Get("matchLabelKeys");
    const JsonView size = policy.Get("subGroupSize");
    const std::string task(labels.Get("volcano.sh/task-spec").Text());
    VolcanoTier tier = ReadVolcanoTier(topology);
    TopologySubgroup one;
    one.name = policy.Get("name").Text();
    one.roles = {task.empty() ? one.name : task};
    bool pieces = false;
    keys.Items([&](const JsonView& /*key*/) { pieces = true; });
    if (pieces) {
      if (size.present())
        one.segments.push_back({std::move(tier.level), size.Integer(1, 1, kMaxSegment), tier.hard});
    } else {
      (tier.hard ? one.required : one.preferred) = std::move(tier.level);
    }
    if (!one.roles.front().empty()) subgroups.push_back(std::move(one));
  });
  return Arranged(list, std::move(subgroups));
}

std::vector<TopologySubgroup> ReadGroveSubgroups(const JsonView& spec) {
  std::vector<TopologySubgroup> subgroups;
  const auto add = [&](const JsonView& from, std::vector<std::string> roles) {
    const JsonView constraint = from.Get("topologyConstraint");
    const JsonView pack = constraint.Get("packConstraint");
    TopologySubgroup one;
    one.name = from.Get("name").Text();
    one.roles = Sorted(std::move(roles));
    one.required = ReadLevel(pack.Get("required"));
    one.preferred = ReadLevel(pack.Get("preferred"));
    subgroups.push_back(std::move(one));
  };
  const JsonView groups = spec.Get("podgroups");
  groups.Items([&](const JsonView& group) { add(group, {std::string(group.Get("name").Text())}); });
  const JsonView configs = spec.Get("topologyConstraintGroupConfigs");
  configs.Items([&](const JsonView& config) {
    std::vector<std::string> roles;
    const JsonView names = config.Get("podGroupNames");
    names.Items([&](const JsonView& name) { roles.emplace_back(name.Text()); });
    add(config, std::move(roles));
  });
  return Arranged(groups, std::move(subgroups));
}

}  // namespace muster::kube
