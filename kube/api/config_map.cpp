#include "kube/api/config_map.hpp"

#include <utility>

#include "kube/api/refusal.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::ObjectKey;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

namespace {

constexpr size_t kMaxBytes = size_t{2} << 20;

std::string PathOf(const ObjectKey& key, bool collection) {
  return "/api/v1/namespaces/" + key.ns + "/configmaps" + (collection ? "" : "/" + key.name);
}

}  // namespace

Error ConfigMapText::WithoutRight(const Error& error) const {
  return {Code::kForbidden,
          "Muster may not read and write ConfigMap " + place_.object.ToString() +
              ", where it keeps " + place_.what +
              ": give its service account get, create and update (Role " + place_.role +
              " of the manifests). " + error.message,
          ""};
}

Result<std::string> ConfigMapText::Read() {
  known_ = false;
  ApiRequest request;
  request.path = PathOf(place_.object, false);
  request.timeout = place_.timeout;
  const Result<ApiReply> reply = ports_.api.Call(request);
  if (!reply.ok()) return reply.error();
  if (reply->status == 404) {
    known_ = true;
    version_.clear();
    return std::string();
  }
  if (!reply->ok()) {
    const Error error = ErrorOf(*reply);
    return error.code == Code::kForbidden ? WithoutRight(error) : error;
  }
  const std::string name = "ConfigMap " + place_.object.ToString();
  const Result<Json> json = Json::Parse(reply->body, kMaxBytes, name);
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView object(json->root(), name, problems);
  const JsonView metadata = object.Get("metadata");
  std::string version(metadata.Get("resourceVersion").RequiredText());
  const JsonView data = object.Get("data");
  std::string text(data.Get(place_.key).Text());
  if (!problems.none()) return problems.first();
  if (!text.empty()) {
    if (const Status sound = ports_.check(text); !sound.ok()) return sound.error().At(name);
  }
  known_ = true;
  version_ = std::move(version);
  return text;
}

ApiRequest ConfigMapText::WriteOf(const std::string& text) const {
  ApiRequest request;
  request.method = version_.empty() ? Method::kPost : Method::kPut;
  request.path = PathOf(place_.object, version_.empty());
  request.permit = ports_.may_write;
  request.timeout = place_.timeout;
  request.metadata_only = true;
  const ObjectKey& key = place_.object;
  JsonWriter json(request.body);
  json.BeginObject().Key("apiVersion").Text("v1").Key("kind").Text("ConfigMap");
  json.Key("metadata").BeginObject().Key("name").Text(key.name).Key("namespace").Text(key.ns);
  if (!version_.empty()) json.Key("resourceVersion").Text(version_);
  json.Key("labels").BeginObject().TextKey("app.kubernetes.io/name").Text("muster").EndObject();
  json.EndObject().Key("data").BeginObject();
  json.TextKey(place_.key).Text(text).EndObject().EndObject();
  return request;
}

Status ConfigMapText::Write(const std::string& text) {
  if (!known_) {
    if (const Result<std::string> read = Read(); !read.ok()) return read.error();
  }
  for (int tries = 0; tries < 2; ++tries) {
    const Result<ApiReply> reply = ports_.api.Call(WriteOf(text));
    if (!reply.ok()) {
      known_ = false;  // it may have been written
      return reply.error();
    }
    if (reply->ok()) {
      const Result<Json> json = Json::Parse(reply->body, kMaxBytes, "ConfigMap");
      JsonProblems problems;
      if (json.ok()) {
        const JsonView object(json->root(), "ConfigMap", problems);
        const JsonView metadata = object.Get("metadata");
        version_ = metadata.Get("resourceVersion").Text();
      }
      known_ = json.ok() && !version_.empty();
      return Ok{};
    }
    const Error error = ErrorOf(*reply);
    if (error.code == Code::kForbidden) return WithoutRight(error);
    // Somebody changed or deleted it by hand: what this process knows is what holds.
    const bool again = error.code == Code::kConflict || error.code == Code::kNotFound;
    if (!again || !Read().ok()) return error;
  }
  return Error{Code::kConflict,
               "somebody else changes ConfigMap " + place_.object.ToString() + " too, try again",
               ""};
}

}  // namespace muster::kube
