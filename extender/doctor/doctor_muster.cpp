// The doctor's checks of Muster itself.
#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "extender/doctor/doctor_parts.hpp"
#include "http/messages/base64.hpp"
#include "http/tls/serving_certificate.hpp"
#include "kube/json/json.hpp"
#include "kube/json/timestamp.hpp"
#include "kube/lead/lease_record.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Result;
using cluster::Status;
using Kind = Finding::Kind;
using kube::JsonView;

namespace {

constexpr const char* kMusterPods =
    "labelSelector=app.kubernetes.io%2Fname%3Dmuster%2Capp.kubernetes.io%2Fcomponent%3Dextender";
constexpr std::chrono::days kExpiresSoon{21};

std::string Count(size_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string Seconds(cluster::Duration time) { return std::to_string(time.value() / 1000) + " s"; }

}  // namespace

void CheckReplicas(Patient& patient) {
  size_t pods = 0;
  size_t ready = 0;
  std::set<std::string> images;
  const Status read =
      patient.reader.List(InNamespace(patient, "pods"), kMusterPods, [&](const JsonView& pod) {
        ++pods;
        ready += IsReadyPod(pod) ? size_t{1} : size_t{0};
        const JsonView spec = pod.Get("spec");
        const JsonView containers = spec.Get("containers");
        containers.Items([&](const JsonView& container) {
          if (container.Get("name").Text() == "muster")
            images.insert(std::string(container.Get("image").Text()));
        });
      });
  if (!read.ok()) return patient.Unread("replicas", read.error());
  const std::string who = "in namespace " + patient.options.ns;
  if (pods == 0) {
    return patient.Add(Kind::kFault, "replicas", "no pod of Muster is there " + who,
                       "apply manifests/, or give --namespace");
  }
  const std::string count = std::to_string(ready) + " of " + Count(pods, "replica") + " ready";
  if (ready == 0) {
    return patient.Add(Kind::kFault, "replicas", count,
                       "kubectl -n " + patient.options.ns +
                           " describe pods, and their logs: /readyz says what they wait for");
  }
  if (images.size() > 1) {
    return patient.Add(Kind::kNote, "replicas", count + ", of several images: " + Listed(images),
                       "nothing while an update is under way");
  }
  if (ready < 2) {
    return patient.Add(Kind::kNote, "replicas", count,
                       "with two, another one takes over at once when one is lost");
  }
  patient.Add(Kind::kFine, "replicas", count + ", " + Listed(images));
}

void CheckLeader(Patient& patient) {
  const std::string path = InNamespace(patient, "leases/muster", "/apis/coordination.k8s.io/v1");
  const Result<std::string> body = patient.reader.Get(path);
  if (!body.ok() && body.error().code == Code::kNotFound) {
    patient.led = false;
    return patient.Add(Kind::kFault, "leader",
                       "there is no Lease " + patient.options.ns + "/muster: nobody has ever led",
                       "see the log of Muster: it needs the rights of Role muster-lease");
  }
  if (!body.ok()) return patient.Unread("leader", body.error());
  const Result<kube::LeaseObject> lease = kube::ReadLease(*body);
  if (!lease.ok()) return patient.Unread("leader", lease.error());
  const kube::LeaseRecord& record = lease->record;
  if (record.holder.empty()) {
    patient.led = false;
    return patient.Add(Kind::kFault, "leader", "nobody holds the Lease: its last holder gave it up",
                       "wait some seconds; else see the log of Muster");
  }
  const Result<cluster::Time> renewed = kube::ParseTimestamp(record.renew_time);
  if (!renewed.ok()) return patient.Unread("leader", renewed.error());
  const cluster::Duration age = patient.options.now - *renewed;
  const std::string who = record.holder + ", renewed " + Seconds(age) + " ago";
  patient.led = age <= cluster::Seconds(record.duration_seconds);
  if (!*patient.led) {
    return patient.Add(
        Kind::kFault, "leader", "nobody leads: the Lease is of " + who,
        "see whether Muster's pods run; if this clock is right, they cannot renew it");
  }
  patient.Add(Kind::kFine, "leader", who);
}

Result<size_t> ReadyAddresses(const Patient& patient, const std::string& service) {
  size_t addresses = 0;
  const Status read = patient.reader.List(
      InNamespace(patient, "endpointslices", "/apis/discovery.k8s.io/v1"),
      "labelSelector=kubernetes.io%2Fservice-name%3D" + service, [&](const JsonView& slice) {
        const JsonView endpoints = slice.Get("endpoints");
        endpoints.Items([&](const JsonView& endpoint) {
          const JsonView conditions = endpoint.Get("conditions");
          addresses += conditions.Get("ready").Flag(true) ? size_t{1} : size_t{0};
        });
      });
  if (!read.ok()) return read.error();
  return addresses;
}

// kube-scheduler reaches the pod that has the leader's label.
void CheckService(Patient& patient) {
  const Result<size_t> read = ReadyAddresses(patient, "muster");
  if (!read.ok()) return patient.Unread("service", read.error());
  const size_t addresses = *read;
  if (addresses == 1) return patient.Add(Kind::kFine, "service", "Service muster has the leader");
  if (addresses > 1) {
    return patient.Add(
        Kind::kNote, "service", "Service muster has " + Count(addresses, "address") + ", one leads",
        "nothing for some seconds after a change of leader; else see which pods have "
        "the label muster.dev/leader");
  }
  patient.Add(
      Kind::kFault, "service", "Service muster has no address: kube-scheduler reaches nobody",
      "the leader puts the label muster.dev/leader=true on its own pod; its log says why it "
      "cannot");
}

namespace {

// What is wrong with the Secret; a fine finding says until when it holds.
Finding CertificateOf(const Patient& patient, const std::string& secret) {
  Finding finding{Kind::kFault, "certificates", "",
                  "manifests/certificates/make-secrets.sh makes both"};
  std::string pem;
  std::set<std::string> missing;
  const Status read =
      patient.reader.Read(InNamespace(patient, "secrets/" + secret), [&](const JsonView& object) {
        const JsonView data = object.Get("data");
        for (const char* key : {"tls.crt", "tls.key", "ca.crt"}) {
          if (data.Get(key).Text().empty()) missing.insert(key);
        }
        pem = http::DecodeBase64(data.Get("tls.crt").Text()).value_or("");
      });
  const std::string name = "Secret " + secret;
  if (!read.ok() && read.error().code == Code::kNotFound) {
    finding.what = name + " does not exist";
    return finding;
  }
  if (!read.ok()) return DoctorReader::Unread("certificates", read.error());
  finding.what = name + " lacks " + Listed(missing);
  if (!missing.empty()) return finding;
  const Result<http::CertificateTerm> term = http::ReadCertificateTerm(pem);
  finding.what = name + ": tls.crt is no certificate";
  if (!term.ok()) return finding;
  const std::chrono::sys_seconds now{
      std::chrono::seconds(patient.options.now.milliseconds() / 1000)};
  const std::string until =
      kube::FormatSeconds(cluster::Time(term->not_after.time_since_epoch().count() * 1000));
  finding.what = name + " expired at " + until;
  if (term->not_after <= now) return finding;
  finding.what = name + " holds until " + until;
  finding.kind = term->not_after - now < kExpiresSoon ? Kind::kNote : Kind::kFine;
  if (finding.kind == Kind::kFine) finding.remedy.clear();
  return finding;
}

}  // namespace

void CheckCertificates(Patient& patient) {
  for (const char* secret : {"muster-tls", "muster-scheduler-tls"})
    patient.findings.push_back(CertificateOf(patient, secret));
}

void CheckPolicy(Patient& patient) {
  std::string text;
  const Status read = patient.reader.Read(InNamespace(patient, "configmaps/muster-policy"),
                                          [&](const JsonView& object) {
                                            const JsonView data = object.Get("data");
                                            text = data.Get("policy.yaml").Text();
                                          });
  if (!read.ok() && read.error().code == Code::kNotFound) {
    return patient.Add(Kind::kFault, "policy", "there is no ConfigMap muster-policy",
                       "apply manifests/base, or your overlay");
  }
  if (!read.ok()) return patient.Unread("policy", read.error());
  config::PolicyReading policy = config::ReadPolicy(text, "policy.yaml");
  if (!policy.ok()) {
    return patient.Add(Kind::kFault, "policy",
                       policy.faults.front().ToString() +
                           (policy.faults.size() > 1
                                ? " (and " + Count(policy.faults.size() - 1, "more fault") + ")"
                                : ""),
                       "kubectl -n " + patient.options.ns +
                           " get configmap muster-policy -o yaml | muster check-policy -");
  }
  patient.policy = std::move(policy.policy);
  patient.Add(Kind::kFine, "policy", "ConfigMap muster-policy has no fault");
}

}  // namespace muster::extender
