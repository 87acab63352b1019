#include "kube/lead/takeover.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "kube/api/http_status.hpp"
#include "kube/api/refusal.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::ObjectKey;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using cluster::Time;
using std::chrono::milliseconds;

namespace {

constexpr int kTries = 5;
// Below the margin of LeaderElection::MayWrite.
constexpr milliseconds kLabelTimeout{3'500};
constexpr milliseconds kPause{200};

constexpr cluster::Duration kLookAfter = cluster::Seconds(60);
constexpr cluster::Duration kTryAgain = cluster::Seconds(2);

// 401 and 403: an API server that has just started knows neither tokens nor roles.
bool Passing(const Result<ApiReply>& reply) {
  return !reply.ok() || reply->status == kHttpUnauthorized || reply->status == kHttpForbidden ||
         reply->status == kHttpTooManyRequests || reply->status >= 500;
}

// Patches may be made twice: they say what should be, not what should change. A replica that has
// lost the right to call, or ends, is kept by no further try.
Result<ApiReply> CallUntilAnswered(ApiCaller& api, const ApiRequest& request) {
  Result<ApiReply> reply = api.Call(request);
  for (int tried = 1; tried < kTries && Passing(reply); ++tried) {
    if (!request.permit()) break;
    std::this_thread::sleep_for(reply.ok() ? reply->retry_after.value_or(kPause) : kPause);
    reply = api.Call(request);
  }
  return reply;
}

std::string PodsPath(const std::string& ns) { return "/api/v1/namespaces/" + ns + "/pods"; }

// By the status subresource, which keeps changed labels and which fewer admission webhooks watch
// than pods: one that fails closed on pods must not keep the Service from the leader.
ApiRequest LabelRequest(const ObjectKey& pod, bool on) {
  ApiRequest request{.method = Method::kPatch,
                     .path = PodsPath(pod.ns) + "/" + pod.name + "/status"};
  request.timeout = kLabelTimeout;
  request.content_type = "application/merge-patch+json";
  request.metadata_only = true;
  JsonWriter json(request.body);
  json.BeginObject().Key("metadata").BeginObject().Key("labels").BeginObject();
  json.TextKey(kLeaderLabel);
  if (on) {
    json.Text("true");
  } else {
    json.Null();
  }
  json.EndObject().EndObject().EndObject();
  return request;
}

Status AnswerOf(const Result<ApiReply>& reply, bool on) {
  if (!reply.ok()) return reply.error();
  if (!reply->ok() && !(reply->status == kHttpNotFound && !on)) return ErrorOf(*reply);
  return Ok{};
}

Status Label(ApiCaller& api, const ObjectKey& pod, bool on, const std::function<bool()>& permit) {
  ApiRequest request = LabelRequest(pod, on);
  request.permit = permit;
  return AnswerOf(CallUntilAnswered(api, request), on);
}

}  // namespace

Status TakeLeaderLabel(ApiCaller& api, const ObjectKey& own, const std::function<bool()>& leads) {
  const Result<ApiReply> list = CallUntilAnswered(
      api, {.lane = Lane::kGang,
            .path = PodsPath(own.ns) + "?labelSelector=muster.dev%2Fleader%3Dtrue",
            .timeout = kLabelTimeout,
            .permit = leads});
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

Status DropLeaderLabel(ApiCaller& api, const ObjectKey& own) {
  return AnswerOf(api.Call(LabelRequest(own, false)), false);
}

Time LeaderLabel::Step(const Clocks& now) {
  if (!ports_.leading()) {
    if (Drop()) return Time::Never();
    wait_ = std::min(wait_ * 2, kLookAfter);
    return now.steady + wait_;
  }
  wait_ = kTryAgain;
  if (!ports_.may_write()) return now.steady + kTryAgain;  // the lease may yet be renewed
  off_ = false;
  const Status labelled = TakeLeaderLabel(ports_.api, own_, ports_.may_write);
  if (labelled.ok()) return now.steady + kLookAfter;
  ports_.warn("the leader's label is not set, it is tried again: " + labelled.error().ToString());
  return now.steady + kTryAgain;
}

bool LeaderLabel::Drop() {
  if (off_) return true;
  const Status dropped = DropLeaderLabel(ports_.api, own_);
  off_ = dropped.ok();
  if (!off_) ports_.warn("the leader's label is not taken off: " + dropped.error().ToString());
  return off_;
}

}  // namespace muster::kube
