#include "extender/embedded/priority_classes.hpp"

#include "config/yaml/yaml_json.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json.hpp"

namespace muster::extender {

using cluster::Result;

namespace {

void Add(std::string_view json, PriorityClasses& classes) {
  const Result<cluster::PriorityClass> read = ReadPriorityClass(json);
  if (read.ok()) classes[read->key.name] = read->value;
}

}  // namespace

Result<cluster::PriorityClass> ReadPriorityClass(std::string_view json, const std::string& uid) {
  const Result<kube::Json> parsed = kube::Json::Parse(json, json.size(), kPriorityClass);
  if (!parsed.ok()) return parsed.error();
  Result<cluster::PriorityClass> read =
      kube::DecodePriorityClass(parsed->root(), {.source = kube::Source::kManifest});
  if (read.ok()) read->uid = cluster::PriorityClassUid(uid);
  return read;
}

Result<sim::OtherRecord> PriorityClassRecord(std::string_view json) {
  const Result<cluster::PriorityClass> read = ReadPriorityClass(json);
  if (!read.ok()) return read.error();
  sim::OtherRecord record;
  record.kind = kPriorityClass;
  record.key = read->key;
  record.json = json;
  return record;
}

void AddClasses(const std::vector<config::ManifestDocument>& documents, PriorityClasses& classes) {
  for (const config::ManifestDocument& document : documents) {
    if (document.kind() == kPriorityClass) Add(document.json(), classes);
    const config::YamlNode* items = document.source().Find("items");
    if (items == nullptr) continue;
    for (const config::YamlNode& item : items->items) {
      if (item.TextAt("kind") != kPriorityClass) continue;
      const Result<std::string> json = config::ToJson(item, document.file_name());
      if (json.ok()) Add(*json, classes);
    }
  }
}

PriorityClasses ClassesIn(const sim::ApiServer& api) {
  PriorityClasses classes;
  for (const sim::OtherPtr& other : api.Others()) {
    if (other->kind == kPriorityClass) Add(other->json, classes);
  }
  return classes;
}

}  // namespace muster::extender
