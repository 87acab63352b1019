// The doctor's checks of those with whom Muster works: API server, kube-scheduler, admission, and
// the pods that wait for it.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "cluster/records/pod.hpp"
#include "config/fields/amounts.hpp"
#include "config/yaml/yaml_json.hpp"
#include "config/yaml/yaml_parser.hpp"
#include "extender/doctor/doctor_parts.hpp"
#include "kube/json/json.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Result;
using cluster::Status;
using Kind = Finding::Kind;
using kube::JsonView;

namespace {

constexpr int kOldest = 31;           // minor release of Kubernetes
constexpr int kPoliciesOnSince = 36;  // MutatingAdmissionPolicy is on by default
constexpr const char* kSchedulerPods =
    "labelSelector=app.kubernetes.io%2Fname%3Dmuster%2Capp.kubernetes.io%2Fcomponent%3Dscheduler";

// Of "36+" and the like.
std::optional<int> MinorOf(std::string_view text) {
  int minor = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), minor);
  if (read.ec != std::errc()) return std::nullopt;
  return minor;
}

// Of an image "…/kube-scheduler:v1.37.0".
std::optional<int> MinorOfImage(std::string_view image) {
  const size_t tag = image.rfind(":v1.");
  if (tag == std::string_view::npos) return std::nullopt;
  return MinorOf(image.substr(tag + 4));
}

std::vector<std::string> NamesOf(const Patient& patient) {
  return patient.policy ? patient.policy->engine.scheduler_names
                        : std::vector<std::string>{"muster"};
}

}  // namespace

bool CheckServer(Patient& patient) {
  std::string version;
  const Status read = patient.reader.Read("/version", [&](const JsonView& object) {
    version = object.Get("gitVersion").Text();
    patient.minor = MinorOf(object.Get("minor").Text());
  });
  if (!read.ok()) {
    patient.Add(Kind::kFault, "API server", read.error().ToString(),
                "see whether kubectl get nodes works with the same kubeconfig and context");
    return false;
  }
  if (patient.minor && *patient.minor < kOldest) {
    patient.Add(Kind::kFault, "API server", version + " is older than 1." + std::to_string(kOldest),
                "Muster is tried with 1." + std::to_string(kOldest) + " and newer");
    return true;
  }
  patient.Add(Kind::kFine, "API server", version);
  return true;
}

void CheckScheduler(Patient& patient) {
  size_t pods = 0;
  size_t ready = 0;
  std::optional<int> minor;
  const Status read =
      patient.reader.List("/api/v1/namespaces/" + patient.options.ns + "/pods", kSchedulerPods,
                          [&](const JsonView& pod) {
                            ++pods;
                            ready += IsReadyPod(pod) ? size_t{1} : size_t{0};
                            const JsonView spec = pod.Get("spec");
                            const JsonView containers = spec.Get("containers");
                            containers.Items([&](const JsonView& container) {
                              if (const auto found = MinorOfImage(container.Get("image").Text()))
                                minor = found;
                            });
                          });
  if (!read.ok()) return patient.Unread("kube-scheduler", read.error());
  const std::string where = "in namespace " + patient.options.ns;
  if (pods == 0) {
    return patient.Add(Kind::kNote, "kube-scheduler",
                       "there is no kube-scheduler of Muster " + where,
                       "fine where the cluster's own kube-scheduler asks Muster; else apply "
                       "manifests/scheduler");
  }
  if (ready == 0) {
    return patient.Add(Kind::kFault, "kube-scheduler",
                       "none of " + std::to_string(pods) + " pods of muster-scheduler is ready",
                       "kubectl -n " + patient.options.ns + " logs deployment/muster-scheduler");
  }
  if (minor && patient.minor && *minor != *patient.minor) {
    return patient.Add(
        Kind::kNote, "kube-scheduler",
        "it is of Kubernetes 1." + std::to_string(*minor) + ", the API server of 1." +
            std::to_string(*patient.minor),
        "kube-scheduler may be one minor release older, never newer: set its tag to the cluster's");
  }
  patient.Add(Kind::kFine, "kube-scheduler",
              std::to_string(ready) + " of " + std::to_string(pods) + " pods are ready");
}

namespace {

// What of a KubeSchedulerConfiguration keeps Muster from working; empty: nothing.
std::vector<std::string> FaultsOf(const Patient& patient, const JsonView& object) {
  std::vector<std::string> faults;
  std::set<std::string> profiles;
  const JsonView listed = object.Get("profiles");
  listed.Items([&](const JsonView& profile) {
    profiles.insert(std::string(profile.Get("schedulerName").Text()));
  });
  for (const std::string& name : NamesOf(patient)) {
    if (!profiles.contains(name))
      faults.push_back("no profile has schedulerName " + name + " of Muster's policy");
  }
  bool asks = false;
  const JsonView extenders = object.Get("extenders");
  extenders.Items([&](const JsonView& extender) {
    if (extender.Get("bindVerb").Text().empty()) return;
    asks = true;
    const std::string_view prefix = extender.Get("urlPrefix").Text();
    const bool https = prefix.rfind("https://", 0) == 0;
    if (https && !extender.Get("enableHTTPS").Flag(false))
      faults.emplace_back("enableHTTPS is not true");
    if (extender.Get("filterVerb").Text().empty()) faults.emplace_back("it has no filterVerb");
    if (!extender.Get("preemptVerb").Text().empty())
      faults.emplace_back("it has a preemptVerb: Muster preempts whole gangs itself");
    if (extender.Get("ignorable").Flag(false))
      faults.emplace_back("ignorable is true: without Muster pods would be bound anywhere");
    if (!extender.Get("nodeCacheCapable").Flag(false))
      faults.emplace_back("nodeCacheCapable is not true: every call carries all nodes");
    const auto timeout = config::ParseDuration(extender.Get("httpTimeout").Text());
    if (patient.policy && timeout && *timeout != patient.policy->extender.http_timeout) {
      faults.push_back("httpTimeout is " + config::FormatDuration(*timeout) +
                       ", extender.httpTimeout of the policy " +
                       config::FormatDuration(patient.policy->extender.http_timeout));
    }
  });
  if (!asks) faults.emplace_back("no extender has a bindVerb: it does not ask Muster");
  return faults;
}

Result<std::string> AsJson(const std::string& yaml) {
  const auto documents = config::ParseYaml(yaml, "config.yaml", {});
  if (!documents.ok()) return documents.error();
  if (documents->size() != 1)
    return cluster::Error{Code::kInvalidArgument, "expected one document", "config.yaml"};
  return config::ToJson(documents->front(), "config.yaml");
}

}  // namespace

void CheckSchedulerConfig(Patient& patient) {
  const std::string check = "extender configuration";
  // The newest: those before it stay until somebody removes them.
  std::string name;
  std::string text;
  std::string newest;
  const Status read = patient.reader.List(
      "/api/v1/namespaces/" + patient.options.ns + "/configmaps", "", [&](const JsonView& object) {
        const JsonView metadata = object.Get("metadata");
        const JsonView data = object.Get("data");
        const std::string created(metadata.Get("creationTimestamp").Text());
        const std::string_view config = data.Get("config.yaml").Text();
        if (config.find("KubeSchedulerConfiguration") == std::string_view::npos) return;
        if (!name.empty() && created < newest) return;
        name = metadata.Get("name").Text();
        text = config;
        newest = created;
      });
  if (!read.ok()) return patient.Unread(check, read.error());
  if (name.empty()) {
    return patient.Add(Kind::kUnknown, check,
                       "no ConfigMap of namespace " + patient.options.ns + " has one",
                       "compare the file on kube-scheduler's host with "
                       "manifests/scheduler/config.yaml");
  }
  const Result<std::string> body = AsJson(text);
  if (!body.ok()) {
    return patient.Add(Kind::kFault, check, "ConfigMap " + name + ": " + body.error().ToString(),
                       "mend the file");
  }
  const Result<kube::Json> json = kube::Json::Parse(*body, size_t{1} << 20U, "config.yaml");
  kube::JsonProblems problems;
  std::vector<std::string> faults;
  if (json.ok()) faults = FaultsOf(patient, JsonView(json->root(), "config.yaml", problems));
  if (!problems.none()) faults.push_back(problems.first().ToString());
  if (faults.empty()) return patient.Add(Kind::kFine, check, "ConfigMap " + name);
  std::string what = "ConfigMap " + name + ": ";
  for (const std::string& fault : faults) what += (&fault == faults.data() ? "" : "; ") + fault;
  patient.Add(Kind::kFault, check, std::move(what),
              "compare it with manifests/scheduler/config.yaml");
}

namespace {

constexpr const char* kAdmission = "/apis/admissionregistration.k8s.io/v1/";

// Nothing: it is there.
std::optional<Finding> MissingObject(const Patient& patient, const std::string& check,
                                     const std::string& resource, const std::string& name,
                                     const std::string& without, std::string* text = nullptr) {
  const Result<std::string> body = patient.reader.Get(kAdmission + resource + "/" + name);
  if (body.ok()) {
    if (text != nullptr) *text = *body;
    return std::nullopt;
  }
  if (body.error().code != Code::kNotFound) return DoctorReader::Unread(check, body.error());
  return Finding{Kind::kFault, check, resource + " " + name + " does not exist: " + without,
                 "apply manifests/admission"};
}

// Before MutatingAdmissionPolicies.
void CheckWebhook(Patient& patient) {
  const std::string check = "webhook";
  bool trusted = false;
  const Status read =
      patient.reader.Read(std::string(kAdmission) + "mutatingwebhookconfigurations/muster-schedule",
                          [&](const JsonView& object) {
                            const JsonView hooks = object.Get("webhooks");
                            hooks.Items([&](const JsonView& hook) {
                              const JsonView client = hook.Get("clientConfig");
                              trusted = trusted || !client.Get("caBundle").Text().empty();
                            });
                          });
  if (!read.ok() && read.error().code == Code::kNotFound) {
    return patient.Add(Kind::kNote, check,
                       "this API server has no MutatingAdmissionPolicy by default, and Muster's "
                       "webhook is not installed: pods get no gate by themselves",
                       "apply overlay before-1.36, or put the gate into pod templates");
  }
  if (!read.ok()) return patient.Unread(check, read.error());
  if (!trusted) {
    return patient.Add(Kind::kFault, check,
                       "muster-schedule has no caBundle: the API server calls nobody",
                       "the leader puts it there: its log says why it cannot");
  }
  patient.Add(Kind::kFine, check, "muster-schedule is there, with an authority");
}

void CheckGate(Patient& patient) {
  const std::string check = "gate";
  if (patient.minor && *patient.minor < kPoliciesOnSince) return CheckWebhook(patient);
  const std::string without = "pods with Muster's schedulerName get no gate";
  std::string policy;
  for (const char* resource : {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}) {
    auto missing = MissingObject(patient, check, resource, "muster-gate", without, &policy);
    if (missing) return patient.findings.push_back(std::move(*missing));
    if (std::string_view(resource) != "mutatingadmissionpolicies") continue;
    for (const std::string& name : NamesOf(patient)) {
      if (policy.find("'" + name + "'") != std::string::npos) continue;
      return patient.Add(Kind::kFault, check,
                         "muster-gate does not name schedulerName " + name + " of Muster's policy",
                         "add it to manifests/admission/gate/gate.yaml");
    }
  }
  patient.Add(Kind::kFine, check, "policy muster-gate is there and bound");
}

}  // namespace

void CheckAdmission(Patient& patient) {
  CheckGate(patient);
  for (const char* resource :
       {"validatingadmissionpolicies", "validatingadmissionpolicybindings"}) {
    auto missing = MissingObject(patient, "guard", resource, "muster-guard",
                                 "anybody may write Muster's annotations");
    if (missing) return patient.findings.push_back(std::move(*missing));
  }
  patient.Add(Kind::kFine, "guard", "policy muster-guard is there and bound");
}

namespace {

struct GatedPods {
  size_t count = 0;
  std::string first;  // the oldest
  std::string created;
};

bool HasGate(const JsonView& pod) {
  bool gated = false;
  const JsonView spec = pod.Get("spec");
  const JsonView gates = spec.Get("schedulingGates");
  gates.Items([&](const JsonView& gate) {
    gated = gated || gate.Get("name").Text() == cluster::kGangGate;
  });
  return gated;
}

std::string Describe(const Patient& patient, const GatedPods& pods) {
  std::string text = std::to_string(pods.count) + (pods.count == 1 ? " pod waits" : " pods wait");
  const Result<cluster::Time> created = kube::ParseTimestamp(pods.created);
  text += " behind Muster's gate, the oldest is " + pods.first;
  if (created.ok()) {
    const int64_t seconds = (patient.options.now - *created).value() / 1000;
    text += " (" + config::FormatDuration(cluster::Seconds(std::max<int64_t>(seconds, 0))) + ")";
  }
  return text;
}

}  // namespace

void CheckGatedPods(Patient& patient) {
  const std::string check = "gated pods";
  std::map<std::string, GatedPods> by_scheduler;
  const Status read = patient.reader.List(
      "/api/v1/pods", "fieldSelector=status.phase%3DPending", [&](const JsonView& pod) {
        if (!HasGate(pod)) return;
        const JsonView metadata = pod.Get("metadata");
        const JsonView spec = pod.Get("spec");
        GatedPods& pods = by_scheduler[std::string(spec.Get("schedulerName").Text())];
        ++pods.count;
        const std::string created(metadata.Get("creationTimestamp").Text());
        if (!pods.first.empty() && pods.created <= created) return;
        pods.created = created;
        pods.first = std::string(metadata.Get("namespace").Text()) + "/" +
                     std::string(metadata.Get("name").Text());
      });
  if (!read.ok()) return patient.Unread(check, read.error());
  const std::vector<std::string> names = NamesOf(patient);
  bool fault = false;
  size_t fine = 0;
  for (const auto& [scheduler, pods] : by_scheduler) {
    if (std::find(names.begin(), names.end(), scheduler) == names.end()) {
      fault = true;
      patient.Add(
          Kind::kFault, check,
          Describe(patient, pods) + ": schedulerName " + scheduler +
              " is not Muster's, so nobody takes the gate away",
          "set schedulerName to " + names.front() + ", or take the gate out of the template");
      continue;
    }
    fine += pods.count;
    if (patient.led.value_or(true)) continue;
    fault = true;
    patient.Add(Kind::kFault, check, Describe(patient, pods) + ", and nobody leads",
                "see the findings on replicas and leader");
  }
  if (fault) return;
  patient.Add(Kind::kFine, check,
              fine == 0 ? "no pod waits behind Muster's gate"
                        : std::to_string(fine) + " wait for Muster: muster get gangs says why");
}

}  // namespace muster::extender
