// CallerAccess: who calls the API port, and whether they may do what they ask for.
//
// Who may: whom the API server knows by a bearer token and lets do it (TokenReview, then
// SubjectAccessReview); who shows a client certificate that the policy names; on an embedded
// cluster, whoever calls from this machine. A token over plain HTTP is taken from this machine only
// (kubectl port-forward).
//
// Owned by the service. May wait for the API server. Any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/result.hpp"
#include "config/extender_settings.hpp"
#include "http/message.hpp"
#include "kube/access_review.hpp"

namespace muster::extender {

// What a request says of who sent it.
struct Caller {
  std::string peer;
  bool tls = false;
  std::string token;        // empty: none was sent
  std::string client_name;  // of a verified certificate
  std::vector<std::string> client_organisations;
};

Caller CallerOf(const http::Request& request);

// Whether the body says that it is JSON. A page in a browser cannot send that to another site
// without being asked first.
cluster::Status SaysJson(const http::Request& request);

class CallerAccess {
 public:
  struct Ports {
    std::function<config::OperatorSettings()> settings;
    kube::AccessReviewer* reviewer = nullptr;  // null: an embedded cluster
  };

  explicit CallerAccess(Ports ports) : ports_(std::move(ports)) {}

  // Who it is.
  //   kForbidden    they may not; the message says what to do
  //   kUnavailable  nobody can say
  cluster::Result<std::string> Authorise(const Caller& caller,
                                         const kube::AccessAttributes& access) const;

 private:
  const Ports ports_;
};

}  // namespace muster::extender
