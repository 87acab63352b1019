// PodGroups of every flavour that has minMember, minCount or their like:
//   scheduling.x-k8s.io/v1alpha1, scheduling.k8s.io/v1alpha1,    minMember, scheduleTimeoutSeconds
//   scheduling.sigs.k8s.io/v1alpha1
//   scheduling.k8s.io/v1alpha2 and later                         schedulingPolicy.gang.minCount, or
//   .basic scheduling.volcano.sh/v1beta1                                minMember,
//   minTaskMember{task: n} scheduling.run.ai/v2alpha2                                   minMember,
//   subGroups[]{name, minMember}
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/decode.hpp"
#include "kube/gang_record.hpp"
#include "kube/json.hpp"
#include "kube/json_view.hpp"
#include "kube/object_meta.hpp"

namespace muster::kube {

using cluster::PodGroup;
using cluster::Result;
using cluster::RoleMinimum;

namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

enum class Flavour { kPlain, kNative, kVolcano, kKai };

std::optional<Flavour> FlavourOf(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  const std::string_view group = api_version.substr(0, slash);
  if (group == "scheduling.x-k8s.io" || group == "scheduling.sigs.k8s.io") return Flavour::kPlain;
  if (group == "scheduling.volcano.sh") return Flavour::kVolcano;
  if (group == "scheduling.run.ai") return Flavour::kKai;
  if (group != "scheduling.k8s.io") return std::nullopt;
  return api_version == "scheduling.k8s.io/v1alpha1" ? Flavour::kPlain : Flavour::kNative;
}

// Kept as it is written, however odd: the engine judges it.
std::optional<int64_t> ReadCount(const JsonView& count) {
  if (!count.present()) return std::nullopt;
  return count.Integer(1, -kAny, kAny);
}

int64_t ReadNative(const JsonView& spec) {
  const JsonView policy = spec.Get("schedulingPolicy");
  const JsonView gang = policy.Get("gang");
  const JsonView basic = policy.Get("basic");
  if (gang.present() == basic.present()) {
    policy.Problem("expected either gang or basic");
    return 1;
  }
  if (basic.present()) return 1;
  const JsonView count = gang.Get("minCount");
  if (!count.present()) count.Problem("is missing");
  return ReadCount(count).value_or(1);
}

void AddRole(std::string_view name, const JsonView& minimum, std::vector<RoleMinimum>& roles) {
  const int64_t count = minimum.Integer(0, 0, kAny);
  if (count > 0) roles.push_back({std::string(name), count});
}

std::vector<RoleMinimum> ReadRoles(const JsonView& spec, Flavour flavour) {
  std::vector<RoleMinimum> roles;
  if (flavour == Flavour::kVolcano) {
    const JsonView tasks = spec.Get("minTaskMember");
    tasks.Members(
        [&](std::string_view name, const JsonView& count) { AddRole(name, count, roles); });
  }
  if (flavour == Flavour::kKai) {
    const JsonView groups = spec.Get("subGroups");
    groups.Items([&](const JsonView& group) {
      AddRole(group.Get("name").RequiredText(), group.Get("minMember"), roles);
    });
  }
  return roles;
}

// A gang needs what its roles need together, also where minMember says less or nothing.
void ReadMembers(const JsonView& spec, Flavour flavour, PodGroup& record) {
  const std::optional<int64_t> written = ReadCount(spec.Get("minMember"));
  record.min_member = written.value_or(1);
  if (record.min_member < 1) return;  // invalid as a whole
  record.roles = ReadRoles(spec, flavour);
  int64_t together = 0;
  for (const RoleMinimum& role : record.roles) {
    together = cluster::SaturatingAdd(together, role.min_member);
  }
  record.min_member = std::max(record.min_member, together);
}

void ReadSpec(const JsonView& group, Flavour flavour, PodGroup& record) {
  const JsonView spec = group.Get("spec");
  if (!spec.ExpectObject()) return;
  if (flavour == Flavour::kNative) {
    record.min_member = ReadNative(spec);
    return;
  }
  ReadMembers(spec, flavour, record);
  record.schedule_timeout =
      cluster::Seconds(spec.Get("scheduleTimeoutSeconds").Integer(0, 0, kAny));
}

}  // namespace

Result<PodGroup> DecodePodGroup(const JsonNode& json, std::string_view api_version,
                                const DecodeOptions& options) {
  JsonProblems identity;
  const JsonView object(json, "PodGroup", identity);
  const ObjectMeta meta = ReadObjectMeta(object, "PodGroup", Scope::kNamespace, options.source);
  const JsonView own_version = object.Get("apiVersion");
  const std::string_view version = own_version.present() ? own_version.Text() : api_version;
  const std::optional<Flavour> flavour = FlavourOf(version);
  if (!flavour) own_version.Problem("not an API group of PodGroups that Muster knows");
  if (!identity.none()) return identity.first();
  PodGroup record;
  record.uid = cluster::PodGroupUid(meta.uid);
  record.key = meta.key;
  record.created = meta.created;
  record.resource_version = meta.resource_version;
  const JsonView metadata = object.Get("metadata");
  const JsonView annotations = metadata.Get("annotations");
  record.claimed = annotations.Get(cluster::kClaimAnnotation).Text() == "true";
  const Result<cluster::GangRecord> past =
      ParseGangRecord(annotations.Get(cluster::kGangRecordAnnotation).Text());
  if (past.ok()) record.record = *past;
  JsonProblems defects;
  ReadSpec(JsonView(json, "PodGroup", defects), *flavour, record);
  if (!defects.none()) record.defect = defects.first().ToString();
  return record;
}

Result<PodGroup> DecodePodGroup(std::string_view json, const DecodeOptions& options) {
  const Result<Json> parsed = Json::Parse(json, options.max_bytes, "PodGroup");
  if (!parsed.ok()) return parsed.error();
  return DecodePodGroup(parsed->root(), {}, options);
}

}  // namespace muster::kube
