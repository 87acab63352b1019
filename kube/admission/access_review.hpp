// AccessReviewer: who has a bearer token, and whether the cluster's RBAC lets them do something: by
// TokenReview and SubjectAccessReview. Answers hold for `remember`, tokens are kept that long.
//
// A token that no API server would take is refused without asking: a JSON Web Token that says of
// itself that it has expired (by more than clocks may differ), or, where Muster asks for an
// audience, that it is for others. All other words are asked about: an API server may have a
// webhook that knows them.
//
// An API server that cannot be asked, or that does not let Muster ask, is an error and no answer:
// nothing is allowed then. Any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/step_thread.hpp"

namespace muster::kube {

// The audience of tokens that are for Muster alone. The API server takes none of them for itself.
inline constexpr const char* kMusterAudience = "muster.dev";

// What a JSON Web Token says of itself. Nothing of it is verified.
struct TokenClaims {
  std::vector<std::string> audiences;    // empty: none
  std::optional<cluster::Time> expires;  // by the wall clock
};
// Nothing: it is no JSON Web Token, so only its authenticator can read it. Pure.
std::optional<TokenClaims> ReadClaims(const std::string& token);
// Whether a JSON Web Token says that it is for `audience`. Pure.
bool IsMeantFor(const std::string& token, const std::string& audience);

struct TokenUser {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  auto operator<=>(const TokenUser&) const = default;
};

// resourceAttributes of a SubjectAccessReview.
struct AccessAttributes {
  std::string ns;  // empty: the resource is of the cluster
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource;
  std::string name;
  auto operator<=>(const AccessAttributes&) const = default;
};

// What asks the API server for that, and what its answer says.
std::string WriteSubjectAccessReview(const TokenUser& user, const AccessAttributes& access);
cluster::Result<bool> ReadSubjectAccessReview(const std::string& body);

class AccessReviewer {
 public:
  struct Ports {
    ApiCaller& api;
    std::function<Clocks()> now;
  };
  struct Options {
    cluster::Duration remember = cluster::Seconds(10);
    size_t most = 4096;                                       // of each kind of answer
    cluster::Duration clocks_differ = cluster::Seconds(300);  // from those of who makes tokens
  };

  AccessReviewer(Ports ports, Options options) : ports_(std::move(ports)), options_(options) {}

  // `audience`: whom the token is meant for; empty: the API server.
  //   kForbidden    nobody has it, or it is meant for somebody else
  //   kUnavailable  the API server was not asked; the message says what to do
  cluster::Result<TokenUser> WhoHas(const std::string& token, const std::string& audience = {});
  //   kForbidden    they may not; the message names the right
  //   kUnavailable  as above
  cluster::Status May(const TokenUser& user, const AccessAttributes& access);

 private:
  // Why no API server would take the token; empty: one has to be asked.
  std::string RefusedUnasked(const std::string& token, const std::string& audience) const;

  template <typename Answer>
  struct Kept {
    Answer answer;
    cluster::Time until;
  };
  template <typename Key, typename Answer>
  void Keep(std::map<Key, Kept<Answer>>& kept, const Key& key, Answer answer) MUSTER_REQUIRES(mu_);

  const Ports ports_;
  const Options options_;
  cluster::Mutex mu_;
  // By audience and token.
  std::map<std::pair<std::string, std::string>, Kept<cluster::Result<TokenUser>>> users_
      MUSTER_GUARDED_BY(mu_);
  std::map<std::pair<TokenUser, AccessAttributes>, Kept<cluster::Status>> rights_
      MUSTER_GUARDED_BY(mu_);
};

// "update gangs/priority.muster.dev in namespace team"
std::string ToString(const AccessAttributes& access);

}  // namespace muster::kube
