#include "extender/live/start_policy.hpp"

#include <array>
#include <utility>

#include "config/policies/grouping_file.hpp"
#include "config/policies/policy_fields.hpp"
#include "config/policies/policy_manifest.hpp"
#include "config/profiles/shipped_profiles.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using config::Policy;
using config::TlsSettings;

// A flag of serve and the field of the policy file over which it takes precedence.
struct FlagOfField {
  const char* flag;
  std::string_view field;
};
constexpr std::array<FlagOfField, 4> kFlags = {
    {{"--tls-cert", "extender.tls.certFile"},
     {"--tls-key", "extender.tls.keyFile"},
     {"--tls-client-ca", "extender.tls.clientCaFile"},
     {"--tls-client", "extender.tls.allowedClientNames"}}};

void MergeTls(const TlsSettings& flags, TlsSettings* tls) {
  if (!flags.cert_file.empty()) tls->cert_file = flags.cert_file;
  if (!flags.key_file.empty()) tls->key_file = flags.key_file;
  if (!flags.client_ca_file.empty()) tls->client_ca_file = flags.client_ca_file;
  if (!flags.allowed_client_names.empty()) tls->allowed_client_names = flags.allowed_client_names;
}

// The files were read before and are right by themselves, so this is about a flag: in its words.
Error InFlags(const config::Contradiction& contradiction) {
  Error error{Code::kInvalidArgument, contradiction.message, contradiction.field};
  for (const FlagOfField& one : kFlags) {
    if (contradiction.field == one.field) error.place = one.flag;
    if (const std::size_t at = error.message.find(one.field); at != std::string::npos) {
      error.message.insert(at, std::string(one.flag) + " or ");
    }
  }
  return error;
}

}  // namespace

config::PolicyReading ReadStartPolicy(const std::string& file, const TlsSettings& flags) {
  config::PolicyReading read;
  if (!file.empty()) read = config::ReadPolicyOrManifestFile(file);
  if (!read.ok()) return read;
  MergeTls(flags, &read.policy.extender.tls);
  for (const config::Contradiction& contradiction : config::FindContradictions(read.policy)) {
    read.faults.push_back(InFlags(contradiction));
  }
  config::UseProfiles(&read.policy.engine.placement);
  return read;
}

std::vector<std::string> KeepForEmbedded(const Policy& started, Policy* policy) {
  std::vector<std::string> changed;
  const auto keep = [&](const char* field, const auto& was, auto* is) {
    if (*is != was) changed.emplace_back(field);
    *is = was;
  };
  keep("schedulerNames", started.engine.scheduler_names, &policy->engine.scheduler_names);
  keep("extender.address", started.extender.address, &policy->extender.address);
  keep("extender.httpTimeout", started.extender.http_timeout, &policy->extender.http_timeout);
  keep("extender.tls", started.extender.tls, &policy->extender.tls);
  // 0.8 of the httpTimeout that its kube-scheduler has.
  policy->engine.bind_hold_timeout = started.engine.bind_hold_timeout;
  return changed;
}

kube::GroupingSettings GroupingOf(const config::Policy& policy) {
  return {config::WithNonIndexedJobs(
              config::WithOwnRules(config::ShippedGroupingRules(), policy.grouping),
              policy.non_indexed_jobs),
          policy.engine.scheduler_names, policy.by_owner, policy.unreadable_owners};
}

}  // namespace muster::extender
