#include "kube/takeover.hpp"

#include <string>
#include <thread>
#include <vector>

#include "kube/json.hpp"
#include "kube/json_view.hpp"
#include "kube/json_writer.hpp"
#include "kube/refusal.hpp"

namespace muster::kube {

using cluster::ObjectKey;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using std::chrono::milliseconds;

namespace {

constexpr int kTries = 5;
// Below the margin of LeaderElection::MayWrite.
constexpr milliseconds kLabelTimeout{3'500};
constexpr milliseconds kPause{200};

constexpr int kNotFound = 404;

// 401 and 403: an API server that has just started knows neither tokens nor roles.
bool Passing(const Result<ApiReply>& reply) {
  return !reply.ok() || reply->status == 401 || reply->status == 403 || reply->status == 429 ||
         reply->status >= 500;
}

// Patches may be made twice: they say what should be, not what should change.
Result<ApiReply> CallUntilAnswered(ApiCaller& api, const ApiRequest& request) {
  Result<ApiReply> reply = api.Call(request);
  for (int tried = 1; tried < kTries && Passing(reply); ++tried) {
    std::this_thread::sleep_for(reply.ok() ? reply->retry_after.value_or(kPause) : kPause);
    reply = api.Call(request);
  }
  return reply;
}

std::string PodsPath(const std::string& ns) { return "/api/v1/namespaces/" + ns + "/pods"; }

Status Label(ApiCaller& api, const ObjectKey& pod, bool on,
             const std::function<bool()>& permit = {}) {
  ApiRequest request{.method = Method::kPatch, .path = PodsPath(pod.ns) + "/" + pod.name};
  request.permit = permit;
  request.timeout = kLabelTimeout;
  request.content_type = "application/merge-patch+json";
  JsonWriter json(request.body);
  json.BeginObject().Key("metadata").BeginObject().Key("labels").BeginObject();
  json.TextKey(kLeaderLabel);
  if (on) {
    json.Text("true");
  } else {
    json.Null();
  }
  json.EndObject().EndObject().EndObject();
  const Result<ApiReply> reply = CallUntilAnswered(api, request);
  if (!reply.ok()) return reply.error();
  if (!reply->ok() && !(reply->status == kNotFound && !on)) return ErrorOf(*reply);
  return Ok{};
}

}  // namespace

Status TakeLeaderLabel(ApiCaller& api, const ObjectKey& own, const std::function<bool()>& leads) {
  const Result<ApiReply> list = CallUntilAnswered(
      api, {.lane = Lane::kGang,
            .path = PodsPath(own.ns) + "?labelSelector=muster.dev%2Fleader%3Dtrue"});
  if (!list.ok()) return list.error();
  if (!list->ok()) return ErrorOf(*list);
  const Result<Json> json = Json::Parse(list->body, size_t{16} << 20, "pods");
  if (!json.ok()) return json.error();
  bool labelled = false;
  std::vector<std::string> others;
  JsonProblems problems;
  const JsonView root(json->root(), "pods", problems);
  const JsonView items = root.Get("items");
  items.Items([&](const JsonView& item) {
    const JsonView metadata = item.Get("metadata");
    std::string name(metadata.Get("name").Text());
    if (name == own.name) {
      labelled = true;
    } else if (!name.empty()) {
      others.push_back(std::move(name));
    }
  });
  if (!problems.none()) return problems.first();
  Status all = Ok{};
  for (const std::string& name : others) {
    if (Status off = Label(api, {own.ns, name}, false, leads); !off.ok()) all = off;
  }
  if (labelled) return all;
  const Status on = Label(api, own, true, leads);
  return on.ok() ? all : on;
}

Status DropLeaderLabel(ApiCaller& api, const ObjectKey& own) { return Label(api, own, false); }

}  // namespace muster::kube
