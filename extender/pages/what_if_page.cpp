#include "extender/pages/what_if_page.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/policies/policy_manifest.hpp"
#include "config/profiles/shipped_profiles.hpp"
#include "extender/embedded/workload.hpp"
#include "extender/live/start_policy.hpp"
#include "extender/pages/what_if_json.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

// An answer takes no longer than about this.
constexpr std::chrono::seconds kMostTime{10};

struct Request {
  std::vector<ManifestText> manifests;
  std::optional<ManifestText> policy;
};

ManifestText ReadFile(const kube::JsonView& view, const char* otherwise) {
  const kube::JsonView name = view.Get("name");
  const kube::JsonView text = view.Get("text");
  ManifestText file{std::string(name.Text()), std::string(text.RequiredText())};
  if (file.name.empty()) file.name = otherwise;
  return file;
}

Result<Request> ReadRequest(const std::string& body) {
  const Result<kube::Json> json = kube::Json::Parse(body, kMaxWhatIfBytes, "request");
  if (!json.ok()) return json.error();
  kube::JsonProblems problems;
  const kube::JsonView root(json->root(), "request", problems);
  Request request;
  if (root.ExpectObject()) {
    const kube::JsonView manifests = root.Get("manifests");
    manifests.Items([&](const kube::JsonView& item) {
      request.manifests.push_back(ReadFile(item, "manifest"));
    });
    const kube::JsonView policy = root.Get("policy");
    if (policy.present()) request.policy = ReadFile(policy, "policy");
  }
  if (!problems.none()) return problems.first();
  if (request.manifests.empty() && !request.policy)
    return Error{Code::kInvalidArgument, "expected manifests, a policy, or both, found none", ""};
  return request;
}

}  // namespace

Result<std::string> WhatIfPage::Answer(const http::Request& request) {
  // Before the only turn is taken: strangers take none.
  const kube::AccessAttributes asks{.ns = "",
                                    .verb = "create",
                                    .group = "muster.dev",
                                    .resource = "whatifs",
                                    .subresource = "",
                                    .name = ""};
  const Result<std::string> by = ports_.access.Authorise(CallerOf(request), asks);
  if (!by.ok()) return by.error();
  if (busy_.exchange(true)) {
    return Error{Code::kUnavailable, "another what-if question is being answered, try again", ""};
  }
  Result<std::string> answer = TryAnswer(request);
  busy_ = false;
  return answer;
}

Result<std::string> WhatIfPage::TryAnswer(const http::Request& sent) const {
  if (Status json = SaysJson(sent); !json.ok()) return json.error();
  const Result<Request> request = ReadRequest(sent.body);
  if (!request.ok()) return request.error();
  engine::WhatIf what;
  what.now = ports_.now();
  what.options = ports_.scheduler.options();
  kube::GroupingSettings grouping = ports_.grouping();
  if (request->policy) {
    Result<config::Policy> policy =
        config::ReadPolicyOrManifest(request->policy->text, request->policy->name).Take();
    if (!policy.ok()) return policy.error();
    config::UseProfiles(&policy->engine.placement);
    grouping = GroupingOf(*policy);
    what.options = std::move(policy->engine);
  }
  grouping.scheduler_names = what.options.scheduler_names;
  Result<Workload> workload = ReadWorkload(request->manifests, grouping, what.now);
  if (!workload.ok()) return workload.error();
  what.workload = std::move(workload->facts);
  what.known = ports_.scheduler.DecidedFacts();
  if (Status fine = CheckNames(what.known, what.workload); !fine.ok()) return fine.error();
  const int answers = request->policy ? 2 : 1;
  const auto try_out = [&] {
    const auto end = std::chrono::steady_clock::now() + kMostTime / answers;
    what.stop = [end] { return std::chrono::steady_clock::now() >= end; };
    return engine::TryOut(what);
  };
  const engine::WhatIfAnswer then = try_out();
  if (!request->policy) return WhatIfJson(then, nullptr, workload->warnings);
  what.options = ports_.scheduler.options();
  const engine::WhatIfAnswer now = try_out();
  return WhatIfJson(then, &now, workload->warnings);
}

}  // namespace muster::extender
