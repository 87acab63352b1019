// AccessReviewer: who has a bearer token, and whether the cluster's RBAC lets them do something: by
// TokenReview and SubjectAccessReview. Answers hold for `remember`, tokens are kept that long.
//
// An API server that cannot be asked, or that does not let Muster ask, is an error and no answer:
// nothing is allowed then. Any thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/mutex.hpp"
#include "cluster/result.hpp"
#include "cluster/units.hpp"
#include "kube/api_caller.hpp"

namespace muster::kube {

// The audience of tokens that are for Muster alone. The API server takes none of them for itself.
inline constexpr const char* kMusterAudience = "muster.dev";

// Whether a JSON Web Token says that it is for `audience`. Nothing of it is verified. Pure.
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
    std::function<cluster::Time()> now;  // steady
  };
  struct Options {
    cluster::Duration remember = cluster::Seconds(10);
    size_t most = 4096;  // of each kind of answer
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
