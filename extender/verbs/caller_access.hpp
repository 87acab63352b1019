// CallerAccess: who calls the API port, and whether they may do what they ask for.
//
// Who may give an order: whom the API server knows by a bearer token and lets do it (TokenReview,
// then SubjectAccessReview); who shows a client certificate that the policy names; on an embedded
// cluster, whoever calls from this machine.
//
// A page in a browser is not its user: where a connection from this machine is trusted for what it
// is, the request must name this machine as its Host (a site can give its own name this address),
// and no other place as its Origin. On an embedded cluster, which trusts everybody with its pages,
// that holds for all requests.
//
// Who may read a page: those who have that right in the same way; everybody, if the policy makes
// the page public; whoever calls from this machine without a proxy (who may run a command in
// Muster's pod or forward its port); on an embedded cluster, everybody.
//
// A token comes in Authorization, or in X-Muster-Token: the service proxy of an API server takes
// Authorization off. The second is a token for Muster alone (kMusterAudience), which nobody can use
// elsewhere, so it may come over plain HTTP as an API server sends it. Another one over plain HTTP
// is taken from this machine only (kubectl port-forward).
//
// Owned by the service. May wait for the API server. Any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/policies/extender_settings.hpp"
#include "http/messages/message.hpp"
#include "kube/admission/access_review.hpp"

namespace muster::extender {

// What a request says of who sent it.
struct Caller {
  std::string peer;
  bool tls = false;
  bool forwarded = false;    // a proxy says that it sent it for somebody else
  std::string elsewhere;     // Host or Origin that names another place, for people; empty: neither
  std::string token;         // for the API server; empty: none was sent
  std::string muster_token;  // for Muster alone; empty: none was sent
  std::string client_name;   // of a verified certificate
  std::vector<std::string> client_organisations;
};

Caller CallerOf(const http::Request& request);

// Whether the body says that it is JSON, or JSON or YAML. A page in a browser cannot send that to
// another site without being asked first.
cluster::Status SaysJson(const http::Request& request);
cluster::Status SaysJsonOrYaml(const http::Request& request);

class CallerAccess {
 public:
  struct Ports {
    std::function<config::OperatorSettings()> settings;
    // Words of config::kPublicPages; empty: no page is public.
    std::function<std::vector<std::string>()> public_pages = {};
    kube::AccessReviewer* reviewer = nullptr;  // null: an embedded cluster
  };

  explicit CallerAccess(Ports ports) : ports_(std::move(ports)) {}
  ~CallerAccess() = default;
  CallerAccess(const CallerAccess&) = delete;
  CallerAccess& operator=(const CallerAccess&) = delete;

  // Who it is.
  //   kForbidden    they may not; the message says what to do
  //   kUnavailable  nobody can say
  cluster::Result<std::string> Authorise(const Caller& caller,
                                         const kube::AccessAttributes& access) const;

  // kForbidden: a page in a browser may have sent it, see above.
  cluster::Status MayCall(const Caller& caller) const;

  // Whether they may read what `access` says of group muster.dev; its resource is the page.
  //   kForbidden    they may not; the message says what to do
  //   kUnavailable  nobody can say
  cluster::Status MayRead(const Caller& caller, const kube::AccessAttributes& access) const;

 private:
  // Of a caller with a token.
  cluster::Result<std::string> AuthoriseToken(const Caller& caller,
                                              const kube::AccessAttributes& access) const;
  bool IsPublic(const std::string& page) const;

  const Ports ports_;
};

}  // namespace muster::extender
