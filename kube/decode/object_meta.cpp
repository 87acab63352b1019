#include "kube/decode/object_meta.hpp"

#include <charconv>

#include "kube/json/timestamp.hpp"

namespace muster::kube {

namespace {

// Versions are opaque text by contract and integers in fact; anything else counts as not known.
int64_t ReadResourceVersion(std::string_view text) {
  int64_t version = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), version);
  const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
  return whole && version > 0 ? version : 0;
}

cluster::Time ReadTime(const JsonView& time) {
  if (!time.present() || time.Text().empty()) return {};
  const cluster::Result<cluster::Time> parsed = ParseTimestamp(time.Text());
  if (parsed.ok()) return *parsed;
  time.Problem(parsed.error());
  return {};
}

}  // namespace

ObjectMeta ReadObjectMeta(const JsonView& object, std::string_view kind, Scope scope,
                          Source source) {
  ObjectMeta meta;
  if (!object.ExpectObject()) return meta;
  const JsonView own_kind = object.Get("kind");
  if (!kind.empty() && !own_kind.Text().empty() && own_kind.Text() != kind) {
    own_kind.Problem("expected " + std::string(kind));
  }
  const JsonView metadata = object.Get("metadata");
  if (!metadata.ExpectObject()) return meta;
  meta.key.name = metadata.Get("name").RequiredText();
  if (scope == Scope::kNamespace) {
    const JsonView ns = metadata.Get("namespace");
    meta.key.ns = source == Source::kManifest ? ns.Text() : ns.RequiredText();
    if (meta.key.ns.empty()) meta.key.ns = "default";
  }
  const JsonView uid = metadata.Get("uid");
  meta.uid = source == Source::kManifest ? uid.Text() : uid.RequiredText();
  meta.created = ReadTime(metadata.Get("creationTimestamp"));
  const JsonView deletion = metadata.Get("deletionTimestamp");
  meta.deleting = deletion.present();
  if (meta.deleting) meta.leaves_by = ReadTime(deletion);
  meta.resource_version = ReadResourceVersion(metadata.Get("resourceVersion").Text());
  return meta;
}

cluster::Result<ObjectMeta> DecodeObjectMeta(std::string_view json) {
  const cluster::Result<Json> parsed = Json::Parse(json, DecodeOptions{}.max_bytes, "object");
  if (!parsed.ok()) return parsed.error();
  JsonProblems problems;
  const JsonView object(parsed->root(), "object", problems);
  ObjectMeta meta = ReadObjectMeta(object, "", Scope::kCluster, Source::kApiServer);
  if (!problems.none()) return problems.first();
  return meta;
}

}  // namespace muster::kube
