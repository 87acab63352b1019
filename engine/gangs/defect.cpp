#include "engine/gangs/defect.hpp"

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "policy/domains/fabric_wish.hpp"

namespace muster::engine {

Reason DefectOf(const cluster::PodGroup& group, const Options& options) {
  const auto invalid = [](std::string what) {
    return Because(ReasonCode::kInvalidPodGroup, 0, 0, std::move(what));
  };
  if (!group.defect.empty()) return invalid(group.defect);
  if (group.min_member < 1 || group.min_member > options.max_members) {
    return invalid("spec.minMember is " + std::to_string(group.min_member) + ", expected 1 to " +
                   std::to_string(options.max_members));
  }
  int64_t of_roles = 0;
  std::unordered_set<std::string_view> names;
  for (const cluster::RoleMinimum& role : group.roles) {
    if (role.min_member < 0) return invalid("role " + role.name + " has a negative minimum");
    if (!names.insert(role.name).second) return invalid("two roles are named " + role.name);
    of_roles = cluster::SaturatingAdd(of_roles, role.min_member);
  }
  if (of_roles > group.min_member) {
    return invalid("the roles' minima add up to " + std::to_string(of_roles) +
                   ", more than spec.minMember " + std::to_string(group.min_member));
  }
  return {};
}

namespace {

// Of how many pods its minimum must be a multiple; 1: of any.
std::string DefectOfSegments(const cluster::PodGroup& group, const Options& options) {
  const cluster::TopologyTerms terms = topology::Heeded(options.placement.fabric, group.topology);
  const int64_t size = terms.segments.empty() ? 1 : terms.segments.front().size;
  const int64_t members = group.min_member;
  if (members % size == 0) return {};
  return "its minimum of " + std::to_string(members) + " members is not whole segments of " +
         std::to_string(size) + ": " + std::to_string(members) + " = " +
         std::to_string(members / size) + " × " + std::to_string(size) + " + " +
         std::to_string(members % size);
}

// Where its PodGroup says nothing of the fabric those pods that say something say the same.
Reason DefectOfTopology(const Gang& gang, const cluster::PodGroup* group, const Options& options) {
  const cluster::TopologyTerms* said = nullptr;
  for (const auto& [uid, member] : gang.members) {
    const cluster::Pod& pod = *member.pod;
    if (pod.terminal()) continue;
    const cluster::TopologyTerms& terms = policy::TermsOf(group, pod);
    if (terms.none() || (said != nullptr && *said == terms)) continue;
    const std::string by =
        terms.said_by.empty() ? "annotations muster.dev/topology-…" : terms.said_by;
    if (said != nullptr) {
      return Because(ReasonCode::kInvalidMember, 0, 0,
                     "pod " + pod.key.name + ": its " + by + " differ from those of other pods");
    }
    said = &terms;
    const bool by_group = group != nullptr && &terms == &group->topology;
    std::string defect = topology::DefectOf(options.placement.fabric, terms);
    if (defect.empty() && by_group) defect = DefectOfSegments(*group, options);
    if (defect.empty()) continue;
    return Because(by_group ? ReasonCode::kInvalidPodGroup : ReasonCode::kInvalidMember, 0, 0,
                   by_group ? defect : "pod " + pod.key.name + ": " + defect);
  }
  return {};
}

}  // namespace

Reason DefectOf(const Gang& gang, const cluster::PodGroup* group, const Options& options) {
  if (group != nullptr) {
    if (Reason defect = DefectOf(*group, options); defect.code != ReasonCode::kNone) return defect;
  }
  const bool runs = gang.past.has_run() && gang.tally.bound > 0;
  for (const auto& [uid, member] : gang.members) {
    const cluster::Pod& pod = *member.pod;
    if (!pod.defect.empty() && !pod.terminal() && !(runs && member.malformed())) {
      return Because(ReasonCode::kInvalidMember, 0, 0, "pod " + pod.key.name + ": " + pod.defect);
    }
    if (pod.defect.empty() && member.malformed() && !runs) {
      return Because(ReasonCode::kUnplannedDevices, 0, 0,
                     "pod " + pod.key.name + ": " + DefectOf(pod));
    }
  }
  return runs ? Reason{} : DefectOfTopology(gang, group, options);
}

std::string DefectOf(const cluster::Pod& pod) {
  if (!pod.defect.empty()) return pod.defect;
  return "Muster does not plan " + pod.spec->unplanned_devices +
         "; request nvidia.com/gpu, or use another scheduler";
}

}  // namespace muster::engine
