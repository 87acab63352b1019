#include "kube/dialects/topology_subgroups.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "kube/dialects/topology_level.hpp"

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

// The same whatever the order in which they are written.
std::string RolesTogether(const std::vector<std::string>& roles) {
  std::string name;
  for (const std::string& role : roles) name += (name.empty() ? "" : "+") + role;
  return name;
}

using ByRoles = std::map<std::vector<std::string>, TopologySubgroup>;

// `level`: the field that this annotation fills.
void ReadRoleList(const JsonView& annotation, std::string TopologySubgroup::*level,
                  ByRoles& subgroups) {
  std::string_view rest = annotation.Text();
  while (!rest.empty()) {
    const std::string_view item = TakeItem(rest, ',');
    const size_t equals = item.find('=');
    std::string_view names = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    const std::string name(names);
    std::vector<std::string> roles;
    const bool cut_off = name.ends_with('+') || (rest.empty() && annotation.Text().ends_with(','));
    while (!names.empty()) roles.emplace_back(TakeItem(names, '+'));
    roles = Sorted(std::move(roles));
    if (equals == 0 || roles.empty() || roles.front().empty() || cut_off) {
      annotation.Problem("expected LEVEL=ROLE or LEVEL=ROLE+ROLE, separated by commas, got \"" +
                         std::string(item.substr(0, 80)) + "\"");
      return;
    }
    TopologySubgroup& one = subgroups[roles];
    one.name = RolesTogether(roles);
    one.roles = std::move(roles);
    if (!(one.*level).empty()) {
      annotation.Problem("names a level of " + name + " twice");
      return;
    }
    one.*level = std::string(item.substr(0, std::min(equals, kMaxLevelName)));
  }
}

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Of KAI's.
struct KaiSubgroup {
  std::string parent;
  TopologySubgroup said;
  size_t around = kNone;  // the next one around it that says something
  bool has_children = false;
  bool climbed = false;  // `around` is known

  bool says() const { return !said.required.empty() || !said.preferred.empty(); }
};

struct KaiSubgroups {
  std::vector<KaiSubgroup> all;
  std::map<std::string, size_t> by_name;

  size_t ParentOf(size_t index) const {
    const auto found = by_name.find(all[index].parent);
    return found == by_name.end() ? kNone : found->second;
  }
};

KaiSubgroups ListKai(const JsonView& list) {
  KaiSubgroups groups;
  list.Items([&](const JsonView& group) {
    const JsonView constraint = group.Get("topologyConstraint");
    KaiSubgroup one;
    one.parent = group.Get("parent").Text();
    one.said.name = group.Get("name").Text();
    one.said.required = ReadLevel(constraint.Get("requiredTopologyLevel"));
    one.said.preferred = ReadLevel(constraint.Get("preferredTopologyLevel"));
    if (groups.by_name.try_emplace(one.said.name, groups.all.size()).second)
      groups.all.push_back(std::move(one));
  });
  return groups;
}

// Links each one to the next one around it that says something, in as many steps as there are
// subgroups. Nothing is around one that it is around itself.
void Climb(KaiSubgroups& groups) {
  std::vector<size_t> path;
  std::vector<bool> seen(groups.all.size());
  for (size_t first = 0; first < groups.all.size(); ++first) {
    size_t at = first;
    while (at != kNone && !seen[at]) {
      seen[at] = true;
      path.push_back(at);
      at = groups.ParentOf(at);
      if (at != kNone) groups.all[at].has_children = true;
    }
    size_t around = kNone;
    if (at != kNone && groups.all[at].climbed)
      around = groups.all[at].says() ? at : groups.all[at].around;
    for (; !path.empty(); path.pop_back()) {
      KaiSubgroup& one = groups.all[path.back()];
      one.around = around;
      one.climbed = true;
      if (one.says()) around = path.back();
    }
  }
}

// Adds each one without children to those around it that say something. False: beyond the limit.
bool FillRoles(KaiSubgroups& groups) {
  size_t bytes = 0;
  for (const auto& [name, index] : groups.by_name) {
    if (groups.all[index].has_children) continue;
    size_t at = groups.all[index].says() ? index : groups.all[index].around;
    for (; at != kNone; at = groups.all[at].around) {
      bytes += sizeof(std::string) + name.size();
      if (bytes > kMaxSubgroupBytes) return false;
      groups.all[at].said.roles.push_back(name);
    }
  }
  return true;
}

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
  KaiSubgroups groups = ListKai(list);
  Climb(groups);
  if (!FillRoles(groups)) {
    list.Problem("nested too deep: the names of all roles of those with a level take more than " +
                 std::to_string(kMaxSubgroupBytes >> 10) + " KiB");
    return {};
  }
  std::vector<TopologySubgroup> subgroups;
  subgroups.reserve(groups.all.size());
  for (const auto& [name, index] : groups.by_name)
    subgroups.push_back(std::move(groups.all[index].said));
  return Arranged(list, std::move(subgroups));
}

std::vector<TopologySubgroup> ReadVolcanoSubgroups(const JsonView& spec) {
  const JsonView list = spec.Get("subGroupPolicy");
  std::vector<TopologySubgroup> subgroups;
  list.Items([&](const JsonView& policy) {
    const JsonView topology = policy.Get("networkTopology");
    if (!topology.present()) return;
    VolcanoTier tier = ReadVolcanoTier(topology);
    const auto ignore = [&](const JsonView& field, const char* why) {
      if (tier.hard) field.Problem(why);
    };
    TopologySubgroup one;
    one.name = policy.Get("name").Text();
    const JsonView selector = policy.Get("labelSelector");
    const JsonView labels = selector.Get("matchLabels");
    one.roles = {selector.present() ? std::string(labels.Get("volcano.sh/task-spec").Text())
                                    : one.name};
    if (one.roles.front().empty()) {
      return ignore(selector, R"(expected matchLabels["volcano.sh/task-spec"]: Muster knows the )"
                              "pods of a policy with networkTopology by their task");
    }
    const JsonView keys = policy.Get("matchLabelKeys");
    const JsonView size = policy.Get("subGroupSize");
    bool pieces = false;
    keys.Items([&](const JsonView& /*key*/) { pieces = true; });
    if (!pieces) {
      (tier.hard ? one.required : one.preferred) = std::move(tier.level);
    } else if (size.present()) {
      one.segments.push_back({std::move(tier.level), size.Integer(1, 1, kMaxSegment), tier.hard});
    } else {
      return ignore(size, "is missing: with matchLabelKeys, Muster places pieces of this size");
    }
    subgroups.push_back(std::move(one));
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
