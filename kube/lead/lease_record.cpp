#include "kube/lead/lease_record.hpp"

#include <limits>
#include <utility>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::ObjectKey;
using cluster::Result;

namespace {

constexpr size_t kMaxLeaseBytes = size_t{1024} * 1024;
constexpr int64_t kMostSeconds = std::numeric_limits<int32_t>::max();

// Of a call; leaves half of the time in which a renewal must succeed.
constexpr std::chrono::milliseconds kLeaseTimeout{5000};

std::string PathOf(const ObjectKey& key, bool collection) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + key.ns + "/leases" +
         (collection ? "" : "/" + key.name);
}

ApiRequest Request(Method method, std::string path) {
  ApiRequest request;
  request.method = method;
  request.lane = Lane::kLease;
  request.path = std::move(path);
  request.timeout = kLeaseTimeout;
  return request;
}

// `strategy` stays unset: with it another election, by the control plane, would begin.
std::string Body(std::string_view metadata, const LeaseRecord& record) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Key("apiVersion").Text("coordination.k8s.io/v1").Key("kind").Text("Lease");
  json.Key("metadata").Raw(metadata).Key("spec").BeginObject();
  if (!record.holder.empty()) json.Key("holderIdentity").Text(record.holder);
  json.Key("leaseDurationSeconds").Integer(record.duration_seconds);
  json.Key("acquireTime").Text(record.acquire_time).Key("renewTime").Text(record.renew_time);
  json.Key("leaseTransitions").Integer(record.transitions);
  json.EndObject().EndObject();
  return body;
}

std::string MetadataOf(const JsonView& metadata) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  metadata.Members([&](std::string_view key, const JsonView& value) {
    if (key == "managedFields") return;
    std::string text;
    value.AppendTo(text);
    json.TextKey(key).Raw(text);
  });
  json.EndObject();
  return out;
}

}  // namespace

Result<LeaseObject> ReadLease(std::string_view text) {
  const Result<Json> json = Json::Parse(text, kMaxLeaseBytes, "Lease");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView lease(json->root(), "Lease", problems);
  const JsonView metadata = lease.Get("metadata");
  // Without it an update would overwrite whatever is there.
  metadata.Get("resourceVersion").RequiredText();
  const JsonView spec = lease.Get("spec");
  LeaseObject object;
  object.record.holder = spec.Get("holderIdentity").Text();
  object.record.duration_seconds = spec.Get("leaseDurationSeconds").Integer(0, 0, kMostSeconds);
  object.record.acquire_time = spec.Get("acquireTime").Text();
  object.record.renew_time = spec.Get("renewTime").Text();
  object.record.transitions = spec.Get("leaseTransitions").Integer(0, 0, kMostSeconds);
  object.metadata = MetadataOf(metadata);
  if (!problems.none()) return problems.first();
  return object;
}

ApiRequest GetLease(const ObjectKey& key) { return Request(Method::kGet, PathOf(key, false)); }

ApiRequest CreateLease(const ObjectKey& key, const LeaseRecord& record) {
  ApiRequest request = Request(Method::kPost, PathOf(key, true));
  std::string metadata;
  JsonWriter json(metadata);
  json.BeginObject().Key("name").Text(key.name).Key("namespace").Text(key.ns).EndObject();
  request.body = Body(metadata, record);
  return request;
}

ApiRequest UpdateLease(const ObjectKey& key, const LeaseObject& base, const LeaseRecord& record) {
  ApiRequest request = Request(Method::kPut, PathOf(key, false));
  request.body = Body(base.metadata, record);
  return request;
}

void GiveBack(ApiCaller& api, const ObjectKey& key, std::optional<LeaseObject> base,
              const LeaseRecord& held, cluster::Time wall) {
  const std::string now = FormatMicroTime(wall);
  for (int tries = 0; tries < 2; ++tries) {
    if (!base) {
      const Result<ApiReply> answer = api.Call(GetLease(key));
      if (!answer.ok() || !answer->ok()) return;
      const Result<LeaseObject> lease = ReadLease(answer->body);
      if (!lease.ok()) return;
      base = *lease;
    }
    const LeaseRecord& is = base->record;
    if (is.holder != held.holder || is.transitions != held.transitions) return;
    const Result<ApiReply> answer =
        api.Call(UpdateLease(key, *base, {"", 1, now, now, held.transitions}));
    // Somebody changed something else in it: once more.
    if (!answer.ok() || answer->status != 409) return;
    base.reset();
  }
}

}  // namespace muster::kube
