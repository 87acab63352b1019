#include "extender/what_if_page.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/policy_manifest.hpp"
#include "config/shipped_profiles.hpp"
#include "extender/api_json.hpp"
#include "extender/embedded/workload.hpp"
#include "extender/json_text.hpp"
#include "extender/start_policy.hpp"
#include "kube/json.hpp"
#include "kube/json_view.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

// An answer takes no longer than about this.
constexpr std::chrono::seconds kMostTime{10};
// Of gangs that nobody asked about and that do not start.
constexpr std::size_t kMostOthers = 1000;

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

// Rounded up.
int64_t InSeconds(cluster::Duration time) { return (time.value() + 999) / 1000; }

void AddReason(JsonText& json, const engine::GangView& gang) {
  if (gang.reason.code == engine::ReasonCode::kNone) return;
  json.BeginObject("reason");
  json.Add("code", engine::ToString(gang.reason.code));
  json.Add("message", engine::Describe(gang.reason));
  json.EndObject();
}

void AddPlaces(JsonText& json, const engine::GangView& gang) {
  json.BeginArray("placed");
  for (const engine::MemberView& member : gang.members) {
    if (member.bound_node.empty()) continue;
    json.BeginObject();
    json.Add("pod", member.pod.name);
    json.Add("node", member.bound_node);
    json.BeginArray("gpus");
    for (const cluster::GpuIndex gpu : member.gpus) json.Number(gpu.value);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

void BeginGang(JsonText& json, const engine::GangView& gang, bool asked, bool starts) {
  json.BeginObject();
  json.Add("namespace", gang.id.key.ns);
  json.Add("name", gang.id.key.name);
  json.Add("kind", gang.id.solo ? "Pod" : "PodGroup");
  json.Add("asked", asked);
  json.Add("starts", starts);
  if (!gang.queue.empty()) json.Add("queue", gang.queue);
  json.Add("priority", gang.priority);
  json.Add("minMember", gang.min_member);
  json.Add("pods", static_cast<int64_t>(gang.members.size()));
}

// Their pods.
int64_t AddEvictions(JsonText& json, const std::vector<engine::WhatIfEviction>& evictions) {
  int64_t pods = 0;
  json.BeginArray("evictions");
  for (const engine::WhatIfEviction& eviction : evictions) {
    pods += eviction.pods;
    json.BeginObject();
    json.Add("namespace", eviction.gang.key.ns);
    json.Add("name", eviction.gang.key.name);
    json.Add("for", eviction.by.ns + "/" + eviction.by.name);
    json.Add("pods", eviction.pods);
    json.Add("podsInAll", eviction.pods_in_all);
    json.Add("priority", eviction.priority);
    if (!eviction.queue.empty()) json.Add("queue", eviction.queue);
    if (!eviction.right.empty()) json.Add("right", eviction.right);
    json.Add("afterSeconds", InSeconds(eviction.after));
    json.EndObject();
  }
  json.EndArray();
  return pods;
}

void AddLater(JsonText& json, const engine::WhatIfLater& later) {
  json.BeginObject("later");
  json.Add("afterSeconds", InSeconds(later.after));
  json.Add("class", engine::ToString(later.by));
  json.Add("evidence", later.by == queues::Trust::kNone
                           ? "nothing but time is missing"
                           : "the end of gang " + later.last.key.ToString());
  AddEvictions(json, later.evictions);
  json.EndObject();
}

void AddWait(JsonText& json, const engine::WhatIfWait& wait, bool asked) {
  BeginGang(json, wait.gang, asked, false);
  json.Add("state", engine::ToString(wait.gang.state));
  AddReason(json, wait.gang);
  if (wait.turn) {
    json.BeginObject("turn");
    json.Add("queue", wait.turn->queue);
    json.Add("position", wait.turn->position);
    json.Add("of", wait.turn->of);
    json.EndObject();
  }
  if (wait.later) AddLater(json, *wait.later);
  json.EndObject();
}

}  // namespace

std::string WhatIfJson(const engine::WhatIfAnswer& answer, bool with_others,
                       const std::vector<std::string>& warnings) {
  const auto asked = [&](const engine::GangView& gang) {
    return std::binary_search(answer.workload.begin(), answer.workload.end(), gang.id);
  };
  JsonText json;
  json.BeginObject();
  json.BeginArray("gangs");
  for (const engine::WhatIfStart& start : answer.starts) {
    BeginGang(json, start.gang, asked(start.gang), true);
    json.Add("afterSeconds", InSeconds(start.after));
    AddPlaces(json, start.gang);
    if (start.gang.certificate)
      AddPreemption(json, *start.gang.certificate, start.gang.certificate->made_at);
    json.EndObject();
  }
  for (const engine::WhatIfWait& wait : answer.waits) {
    if (asked(wait.gang)) AddWait(json, wait, true);
  }
  std::size_t others = 0;
  for (const engine::WhatIfWait& wait : answer.waits) {
    if (asked(wait.gang) || wait.gang.members.empty()) continue;
    if (++others <= kMostOthers && with_others) AddWait(json, wait, false);
  }
  json.EndArray();
  json.Add("evictedPods", AddEvictions(json, answer.evictions));
  json.Add("waiting", static_cast<int64_t>(others));
  json.Add("complete", answer.complete);
  json.Add("lookedAheadSeconds", InSeconds(answer.looked_ahead));
  json.Add("lookedAtAll", answer.looked_at_all);
  json.AddNames("warnings", warnings);
  json.EndObject();
  return json.Take();
}

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
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  what.stop = [end] { return std::chrono::steady_clock::now() >= end; };
  return WhatIfJson(engine::TryOut(what), request->policy.has_value(), workload->warnings);
}

}  // namespace muster::extender
