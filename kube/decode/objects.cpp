#include <string>
#include <string_view>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr std::string_view kListSuffix = "List";

// What an item of a list is taken for when it does not say so itself.
struct ItemType {
  std::string_view kind;
  std::string_view api_version;
};

template <typename T>
Result<Object> ToObject(Result<T> decoded) {
  if (!decoded.ok()) return decoded.error();
  return Object(std::move(*decoded));
}

Result<Object> DecodeOne(const JsonNode& json, const ItemType& type, const DecodeOptions& options) {
  if (type.kind == "Pod") return ToObject(DecodePod(json, options));
  if (type.kind == "Node") return ToObject(DecodeNode(json, options));
  if (type.kind == "Job") return ToObject(DecodeJob(json, options));
  if (type.kind == "PodGroup" || type.kind == "PodGang")
    return ToObject(DecodePodGroup(json, type.api_version, options));
  return Error{Code::kInvalidArgument, "expected a Node, Pod, PodGroup, PodGang or Job", "kind"};
}

ItemType TypeOf(const JsonView& object, const ItemType& otherwise) {
  const JsonView kind = object.Get("kind");
  const JsonView api_version = object.Get("apiVersion");
  return {kind.present() ? kind.Text() : otherwise.kind,
          api_version.present() ? api_version.Text() : otherwise.api_version};
}

// Items of a plain List say what they are; items of a PodList are pods.
Objects DecodeItems(const JsonView& list, const ItemType& list_type, const DecodeOptions& options) {
  Objects objects;
  ItemType item_type = list_type;
  item_type.kind.remove_suffix(kListSuffix.size());
  const JsonView items = list.Get("items");
  items.Items([&](const JsonView& item) {
    if (!item.ExpectObject()) return;
    Result<Object> object = DecodeOne(item.node(), TypeOf(item, item_type), options);
    if (object.ok()) {
      objects.items.push_back(std::move(*object));
    } else {
      objects.refused.push_back(object.error().At(item.Place()));
    }
  });
  return objects;
}

}  // namespace

Result<Objects> DecodeObjects(std::string_view json, const DecodeOptions& options) {
  const Result<Json> parsed = Json::Parse(json, options.max_bytes, "object");
  if (!parsed.ok()) return parsed.error();
  JsonProblems problems;
  const JsonView object(parsed->root(), "object", problems);
  if (!object.ExpectObject()) return problems.first();
  const ItemType type = TypeOf(object, {});
  if (!problems.none()) return problems.first();
  if (!type.kind.ends_with(kListSuffix)) {
    Result<Object> one = DecodeOne(parsed->root(), type, options);
    if (!one.ok()) return one.error();
    Objects objects;
    objects.items.push_back(std::move(*one));
    return objects;
  }
  const JsonView list(parsed->root(), type.kind, problems);
  Objects objects = DecodeItems(list, type, options);
  const JsonView metadata = list.Get("metadata");
  objects.resource_version = metadata.Get("resourceVersion").Text();
  objects.continue_token = metadata.Get("continue").Text();
  if (!problems.none()) return problems.first();
  return objects;
}

}  // namespace muster::kube
