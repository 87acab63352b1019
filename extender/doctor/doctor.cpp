#include "extender/doctor/doctor.hpp"

#include <utility>

#include "extender/doctor/doctor_parts.hpp"

namespace muster::extender {

const char* ToString(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kFine:
      return "ok";
    case Finding::Kind::kNote:
      return "note";
    case Finding::Kind::kUnknown:
      return "unknown";
    case Finding::Kind::kFault:
      break;
  }
  return "fault";
}

std::string InNamespace(const Patient& patient, const std::string& resource,
                        const std::string& group) {
  return group + "/namespaces/" + patient.options.ns + "/" + resource;
}

std::string Listed(const std::set<std::string>& names, size_t most) {
  std::string text;
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == most) return text + " and " + std::to_string(names.size() - most) + " more";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

bool IsReadyPod(const kube::JsonView& pod) {
  bool ready = false;
  const kube::JsonView status = pod.Get("status");
  const kube::JsonView conditions = status.Get("conditions");
  conditions.Items([&](const kube::JsonView& condition) {
    if (condition.Get("type").Text() == "Ready") ready = condition.Get("status").Text() == "True";
  });
  return ready;
}

std::vector<Finding> Examine(kube::ApiCaller& api, const DoctorOptions& options) {
  Patient patient{DoctorReader(api), options};
  if (!CheckServer(patient)) return std::move(patient.findings);
  CheckReplicas(patient);
  CheckLeader(patient);
  CheckService(patient);
  CheckCertificates(patient);
  CheckPolicy(patient);
  CheckRights(patient);
  CheckScaleUp(patient);
  CheckPages(patient);
  CheckScheduler(patient);
  CheckSchedulerConfig(patient);
  CheckAdmission(patient);
  CheckGatedPods(patient);
  return std::move(patient.findings);
}

}  // namespace muster::extender
