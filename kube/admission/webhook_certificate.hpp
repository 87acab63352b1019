// WebhookCertificate: the certificate of Muster's admission webhook, and who may trust it.
//
//   Secret        ca.crt (authorities), tls.crt, tls.key; next.crt, next.key while one is replaced
//   configuration webhooks[].clientConfig: of its hosts the certificate is; caBundle = ca.crt
//
// Every replica reads the Secret and serves what it holds. The leader makes and replaces it:
//
//   none, unusable, other hosts ──▶ made at once
//   2/3 of its life is over     ──▶ next is made, its authority beside the old one in ca.crt
//        caBundle has both for `settle` ──▶ next takes its place ──▶ authorities go when they end
//
// Secret and MutatingWebhookConfiguration exist already (the manifests make them, empty): Muster
// has no right to create either. Each write names the version that was read, so two leaders never
// overwrite each other. A failure is reported once, and again only when it changes; the certificate
// that was read last stays in use.
//
// A step of a StepThread: one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "http/tls/held_certificate.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/step_thread.hpp"

namespace muster::kube {

// What the Secret holds, PEM.
struct KeptCertificate {
  std::string authorities;
  http::CertificatePair pair;
  http::CertificatePair next;  // empty: none is staged
  bool operator==(const KeptCertificate&) const = default;
};

class WebhookCertificate {
 public:
  struct Options {
    cluster::ObjectKey secret;
    std::string configuration;                                // MutatingWebhookConfiguration
    cluster::Duration life = cluster::Seconds(365 * 86'400);  // of a certificate
    cluster::Duration settle = cluster::Seconds(180);         // until all API servers know caBundle
    cluster::Duration every = cluster::Seconds(30);           // looks
    cluster::Duration retry = cluster::Seconds(3);            // after what went wrong
  };
  struct Ports {
    ApiCaller& api;
    std::function<bool()> may_write;  // this replica leads
    std::function<void(const http::CertificatePair&)> present;
    std::function<void(const std::string&)> warn;
    std::function<void(const std::string&)> note;  // what was done, for the log
  };

  WebhookCertificate(Ports ports, Options options)
      : ports_(std::move(ports)), options_(std::move(options)) {}

  cluster::Time Step(const Clocks& now);

 private:
  struct Secret {
    KeptCertificate kept;
    std::string version;
  };
  struct Webhook {
    std::string name;
    std::string host;
    std::string bundle;  // PEM
  };
  struct Configuration {
    std::vector<Webhook> webhooks;
    std::string version;
    bool Trusts(const std::string& authorities) const;
  };

  cluster::Status Look(const Clocks& now);
  cluster::Status Lead(const Clocks& now, Secret& secret);
  cluster::Result<Secret> ReadSecret() const;
  cluster::Result<Configuration> ReadConfiguration() const;
  cluster::Status WriteSecret(const Secret& secret) const;
  cluster::Status WriteBundle(const Configuration& configuration, const std::string& bundle) const;
  // What the Secret is to hold; as it is: nothing is to change.
  cluster::Result<KeptCertificate> Next(const KeptCertificate& kept,
                                        const std::vector<std::string>& hosts,
                                        const Clocks& now) const;
  cluster::Status MakeInto(const std::vector<std::string>& hosts, cluster::Time wall,
                           KeptCertificate& kept, http::CertificatePair& pair) const;
  // The body of an answer that says yes.
  cluster::Result<std::string> Ask(const ApiRequest& request, const std::string& object) const;
  cluster::Error Explained(const cluster::Error& error, const std::string& object) const;

  const Ports ports_;
  const Options options_;
  std::string told_;             // of what went wrong
  std::string bundled_;          // what every caBundle holds
  cluster::Time bundled_since_;  // steady
};

}  // namespace muster::kube
