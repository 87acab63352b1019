// The doctor's checks of Muster's rights, and of what an installation may do without.
#include <set>
#include <span>

#include "extender/doctor/doctor_parts.hpp"
#include "kube/admission/access_review.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Result;
using Kind = Finding::Kind;

namespace {

struct Right {
  const char* verb;
  const char* group;
  const char* resource;
  const char* subresource = "";
  bool own_namespace = false;
};

// Without which gangs do not start.
constexpr Right kRights[] = {
    {"list", "", "pods"},
    {"watch", "", "pods"},
    {"get", "", "pods"},
    {"patch", "", "pods"},
    {"patch", "", "pods", "status"},
    {"create", "", "pods", "binding"},
    {"create", "", "pods", "eviction"},
    {"list", "", "nodes"},
    {"watch", "", "nodes"},
    {"list", "", "namespaces"},
    {"watch", "", "namespaces"},
    {"list", "scheduling.k8s.io", "priorityclasses"},
    {"create", "events.k8s.io", "events"},
    {"get", "coordination.k8s.io", "leases", "", true},
    {"update", "coordination.k8s.io", "leases", "", true},
};

// With which a guarantee is taken back in spite of PodDisruptionBudgets.
constexpr Right kDeletionRights[] = {{"delete", "", "pods"}};

// With which Muster asks for nodes: it needs all of them.
constexpr const char* kAutoscaling = "autoscaling.x-k8s.io";
constexpr Right kScaleUpRights[] = {
    {"list", kAutoscaling, "provisioningrequests"},
    {"watch", kAutoscaling, "provisioningrequests"},
    {"get", kAutoscaling, "provisioningrequests"},
    {"create", kAutoscaling, "provisioningrequests"},
    {"delete", kAutoscaling, "provisioningrequests"},
    {"create", "", "podtemplates"},
    {"delete", "", "podtemplates"},
};

// To find out who the caller of a page or an order is, and what the caller may do.
constexpr Right kReviewRights[] = {
    {"create", "authentication.k8s.io", "tokenreviews"},
    {"create", "authorization.k8s.io", "subjectaccessreviews"},
};

// Those that Muster's account lacks, each in words.
Result<std::set<std::string>> Lacked(const Patient& patient, std::span<const Right> rights) {
  kube::TokenUser user;
  user.name = "system:serviceaccount:" + patient.options.ns + ":muster";
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + patient.options.ns,
                 "system:authenticated"};
  std::set<std::string> lacks;
  for (const Right& right : rights) {
    const kube::AccessAttributes access{.ns = right.own_namespace ? patient.options.ns : "",
                                        .verb = right.verb,
                                        .group = right.group,
                                        .resource = right.resource,
                                        .subresource = right.subresource,
                                        .name = right.own_namespace ? "muster" : ""};
    const Result<std::string> answer =
        patient.reader.Post("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                            kube::WriteSubjectAccessReview(user, access));
    const Result<bool> allowed =
        answer.ok() ? kube::ReadSubjectAccessReview(*answer) : Result<bool>(answer.error());
    if (!allowed.ok()) return allowed.error();
    if (!*allowed) lacks.insert(ToString(access));
  }
  return lacks;
}

// Whether it has all of them; else it is said.
bool HasRights(Patient& patient, const std::string& check, std::span<const Right> rights,
               const std::string& without) {
  const Result<std::set<std::string>> lacks = Lacked(patient, rights);
  if (!lacks.ok()) {
    patient.Unread(check, lacks.error());
    return false;
  }
  if (lacks->empty()) return true;
  patient.Add(Kind::kFault, check, "the account muster may not " + Listed(*lacks) + without,
              "apply manifests/base/permissions.yaml");
  return false;
}

// Whoever wants budgets to be kept may take it away, or say so in the policy.
void CheckDeletion(Patient& patient) {
  const Result<std::set<std::string>> lacks = Lacked(patient, kDeletionRights);
  if (!lacks.ok()) return patient.Unread("budgets", lacks.error());
  if (!lacks->empty()) {
    patient.Add(Kind::kNote, "budgets",
                "the account muster may not " + Listed(*lacks) +
                    ": PodDisruptionBudgets keep what queues take back of their guarantees",
                "apply manifests/base/permissions.yaml, or say preemption.budgets.guarantee: keep "
                "of the root queue");
  }
}

}  // namespace

void CheckRights(Patient& patient) {
  if (HasRights(patient, "rights", kRights, ""))
    patient.Add(Kind::kFine, "rights", "the account muster has the rights that it needs");
  CheckDeletion(patient);
}

void CheckScaleUp(Patient& patient) {
  if (!patient.policy) return;
  if (patient.policy->engine.autoscaling.scale_up != engine::ScaleUp::kProvisioningRequest) return;
  const std::string check = "scale-up";
  const Result<std::string> group = patient.reader.Get(std::string("/apis/") + kAutoscaling);
  if (!group.ok() && group.error().code == Code::kNotFound) {
    return patient.Add(Kind::kFault, check,
                       "this API server has no ProvisioningRequests: Muster asks for no nodes",
                       "install the CRD that comes with cluster-autoscaler, or set "
                       "autoscaling.scaleUp of the policy to unschedulable or none");
  }
  if (!group.ok()) return patient.Unread(check, group.error());
  if (HasRights(patient, check, kScaleUpRights, ": it asks for no nodes"))
    patient.Add(Kind::kFine, check, "Muster may ask for nodes by ProvisioningRequest");
}

void CheckPages(Patient& patient) {
  const std::string check = "kubectl muster";
  const Result<std::string> service =
      patient.reader.Get(InNamespace(patient, "services/muster-api"));
  if (!service.ok() && service.error().code == Code::kNotFound) {
    return patient.Add(Kind::kNote, check, "there is no Service muster-api: it reaches nobody",
                       "apply manifests/oncall, where people are to use it");
  }
  if (!service.ok()) return patient.Unread(check, service.error());
  const Result<size_t> addresses = ReadyAddresses(patient, "muster-api");
  if (!addresses.ok()) return patient.Unread(check, addresses.error());
  if (*addresses == 0) {
    return patient.Add(Kind::kFault, check, "Service muster-api has no address",
                       "see the finding on service; its selector is that of manifests/oncall");
  }
  if (HasRights(patient, check, kReviewRights, ": it answers only public pages"))
    patient.Add(Kind::kFine, check, "Service muster-api leads to the leader");
}

}  // namespace muster::extender
