// AdmissionService: the mutating webhook that takes new pods for Muster where the API server has no
// MutatingAdmissionPolicy: its port, its certificate, its answers
// (kube/admission/admission_review.hpp).
//
//   API server ──POST /admit/gpu or /admit/all──▶ AdmissionReview ──▶ allowed, with a JSON Patch
//   Secret ──▶ WebhookCertificate ──▶ the port opens with the first certificate
//
// The path says which pods are taken: the webhook configuration chooses it by the namespace's
// label. Every replica serves it, whether it leads or not and whether it knows the cluster or not.
//
// Owned by ApiCluster. Start and Stop by one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "http/messages/host_port.hpp"
#include "http/server/server.hpp"
#include "kube/admission/admission_review.hpp"
#include "kube/admission/webhook_certificate.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/step_thread.hpp"

namespace muster::extender {

struct AdmissionSettings {
  std::optional<http::HostPort> listen;  // not given: there is no webhook
  cluster::ObjectKey secret;             // where its certificate is kept
  std::string configuration;             // of the MutatingWebhookConfiguration
};

// Reviews answered so far.
struct AdmissionCounts {
  std::int64_t changed = 0;
  std::int64_t unchanged = 0;
  std::int64_t malformed = 0;
};

class AdmissionService {
 public:
  struct Ports {
    kube::ApiCaller& api;
    std::function<bool()> may_write;
    std::function<std::string()> scheduler_name;  // that pods get
    std::function<void(const std::string&)> warn;
    std::function<void(const std::string&)> note;
  };

  AdmissionService(Ports ports, AdmissionSettings settings, std::string own_namespace);
  ~AdmissionService();  // Stop
  AdmissionService(const AdmissionService&) = delete;
  AdmissionService& operator=(const AdmissionService&) = delete;

  void Start();
  void Poke() { thread_->Poke(); }  // looks after the certificate now; after Start
  void Stop();

  std::uint16_t port() const { return port_; }  // 0: it is not open yet
  AdmissionCounts counts() const { return {changed_, unchanged_, malformed_}; }

 private:
  void Present(const http::CertificatePair& pair);
  http::Response Answer(const http::Request& request, kube::TakenPods taken);

  const Ports ports_;
  const AdmissionSettings settings_;
  const std::string own_namespace_;
  std::atomic<std::int64_t> changed_{0};
  std::atomic<std::int64_t> unchanged_{0};
  std::atomic<std::int64_t> malformed_{0};
  std::atomic<std::uint16_t> port_{0};

  // Of the thread.
  kube::WebhookCertificate certificate_;
  std::shared_ptr<http::HeldCertificate> held_;
  std::unique_ptr<http::Server> server_;  // from the first certificate on
  std::string refused_;                   // why it did not start
  std::unique_ptr<kube::StepThread> thread_;
};

}  // namespace muster::extender
