#include "extender/verbs/caller_access.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

constexpr std::string_view kBearer = "bearer ";
constexpr std::string_view kMusterToken = "x-muster-token";
// Not all of 127.0.0.0/8: Istio's sidecar hands on callers of other machines from 127.0.0.6.
bool IsLoopback(const std::string& peer) {
  return peer == "::1" || peer == "127.0.0.1" || peer == "::ffff:127.0.0.1";
}

std::string TokenOf(const http::Request& request) {
  const std::string_view header = request.Header("authorization");
  if (http::LowerCase(header.substr(0, kBearer.size())) != kBearer) return {};
  std::string_view token = header.substr(kBearer.size());
  token.remove_prefix(std::min(token.find_first_not_of(' '), token.size()));
  return std::string(token);
}

// What proxies say of those for whom they send it.
constexpr std::array<std::string_view, 10> kForwarding = {"forwarded",
                                                          "x-forwarded-for",
                                                          "x-forwarded-host",
                                                          "x-forwarded-proto",
                                                          "x-real-ip",
                                                          "x-client-ip",
                                                          "x-original-forwarded-for",
                                                          "x-envoy-external-address",
                                                          "true-client-ip",
                                                          "via"};

std::string OwnName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return http::LowerCase(name.data());
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// "localhost:8080", "[::1]:8080", "10.0.0.1", "node-1.example.com": without the port.
std::string WithoutPort(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return http::LowerCase(host.substr(0, host.find(':')));
}

// No site can have given its own name this machine's address, and be called by this. An address is
// no name.
bool IsOwnHost(std::string_view text) {
  const std::string host = WithoutPort(text);
  if (host.empty() || host == "localhost" || host.ends_with(".localhost") || IsAddress(host))
    return true;
  const std::string own = OwnName();
  return !own.empty() && host == own;
}

// Of the Host and the Origin: what names another place.
std::string ElsewhereOf(const http::Request& request) {
  const std::string_view host = request.Header("host");
  if (!IsOwnHost(host)) return "Host " + std::string(host);
  const std::string_view origin = request.Header("origin");
  const std::size_t scheme = origin.find("://");
  const bool same = scheme != std::string_view::npos && origin.substr(scheme + 3) == host;
  return origin.empty() || same ? std::string() : "Origin " + std::string(origin);
}

// The one who holds the connection, and nobody behind them.
bool IsOfThisMachine(const Caller& caller) {
  return IsLoopback(caller.peer) && !caller.forwarded && caller.elsewhere.empty();
}

bool Names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool Lists(const config::OperatorSettings& settings, const Caller& caller) {
  return Names(settings.client_names, caller.client_name) ||
         std::any_of(
             caller.client_organisations.begin(), caller.client_organisations.end(),
             [&](const std::string& one) { return Names(settings.client_organisations, one); });
}

}  // namespace

Caller CallerOf(const http::Request& request) {
  return {.peer = request.peer,
          .tls = request.tls,
          .forwarded =
              std::any_of(kForwarding.begin(), kForwarding.end(),
                          [&](std::string_view name) { return !request.Header(name).empty(); }),
          .elsewhere = ElsewhereOf(request),
          .token = TokenOf(request),
          .muster_token = std::string(request.Header(kMusterToken)),
          .client_name = request.client_name,
          .client_organisations = request.client_organisations};
}

Status SaysJson(const http::Request& request) {
  if (request.content_type.starts_with("application/json")) return cluster::Ok{};
  return Error{Code::kInvalidArgument,
               "expected Content-Type: application/json, found \"" + request.content_type + "\"",
               ""};
}

Status SaysJsonOrYaml(const http::Request& request) {
  const std::string type =
      http::LowerCase(request.content_type.substr(0, request.content_type.find(';')));
  for (const std::string_view known :
       {"application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}) {
    if (type == known) return cluster::Ok{};
  }
  return Error{Code::kInvalidArgument,
               "expected Content-Type: application/yaml or application/json, found \"" +
                   request.content_type + "\"",
               ""};
}

Result<std::string> CallerAccess::AuthoriseToken(const Caller& caller,
                                                 const kube::AccessAttributes& access) const {
  const bool own = !caller.muster_token.empty();
  if (!own && !caller.tls && !IsLoopback(caller.peer)) {
    return Error{Code::kForbidden,
                 "a bearer token came over plain HTTP from another machine, which shows it to "
                 "others: set metrics.tls in the policy and use https, or kubectl port-forward",
                 ""};
  }
  const Result<kube::TokenUser> user =
      own ? ports_.reviewer->WhoHas(caller.muster_token, kube::kMusterAudience)
          : ports_.reviewer->WhoHas(caller.token);
  if (!user.ok()) return user.error();
  if (Status may = ports_.reviewer->May(*user, access); !may.ok()) return may.error();
  return user->name;
}

Result<std::string> CallerAccess::Authorise(const Caller& caller,
                                            const kube::AccessAttributes& access) const {
  const bool has_token = !caller.token.empty() || !caller.muster_token.empty();
  if (has_token && ports_.reviewer != nullptr) return AuthoriseToken(caller, access);
  if (!caller.client_name.empty()) {
    if (Lists(ports_.settings(), caller)) return caller.client_name;
    return Error{Code::kForbidden,
                 "\"" + caller.client_name + "\" may not " + ToString(access) +
                     ": add the certificate's name to operators.clientNames of the policy, or its "
                     "O to operators.clientOrganisations",
                 ""};
  }
  if (ports_.reviewer == nullptr && IsOfThisMachine(caller)) return std::string("local");
  return Error{Code::kForbidden,
               ports_.reviewer == nullptr
                   ? "an embedded cluster lets callers of this machine only " + ToString(access)
                   : "the request to " + ToString(access) +
                         " does not say who sends it: send a bearer token (--token-file; kubectl "
                         "muster takes one itself), "
                         "or a client certificate that the policy names (--cert and --key; "
                         "operators.clientNames)",
               ""};
}

bool CallerAccess::IsPublic(const std::string& page) const {
  return ports_.public_pages && Names(ports_.public_pages(), page);
}

Status CallerAccess::MayCall(const Caller& caller) const {
  const bool trusted = ports_.reviewer == nullptr || IsLoopback(caller.peer);
  if (caller.elsewhere.empty() || !trusted) return cluster::Ok{};
  return Error{Code::kForbidden,
               "a page of another site may have sent this (" + caller.elsewhere +
                   "): call Muster by its address, as localhost or by the name of its machine",
               ""};
}

Status CallerAccess::MayRead(const Caller& caller, const kube::AccessAttributes& access) const {
  if (ports_.reviewer == nullptr || IsOfThisMachine(caller) || IsPublic(access.resource))
    return cluster::Ok{};
  const Result<std::string> who = Authorise(caller, access);
  if (!who.ok()) return who.error();
  return cluster::Ok{};
}

}  // namespace muster::extender
