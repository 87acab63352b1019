#include "cli/checks/gang_check.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "cli/checks/yaml_path.hpp"
#include "cli/flags/nearest.hpp"
#include "config/policies/grouping_file.hpp"
#include "config/yaml/yaml_json.hpp"
#include "kube/admission/muster_keys.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json.hpp"
#include "kube/owners/grouping.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using config::YamlEntry;
using config::YamlNode;

constexpr std::array<const char*, 2> kTexts = {"annotations", "labels"};
constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
constexpr const char* kUid = "of-the-manifest";

std::string PathOf(const std::string& metadata, const char* texts, std::string_view key) {
  return Joined(metadata, texts) + kube::PathStep(key);
}

void AddUnknownKeys(const YamlNode& metadata, const std::string& path, std::vector<Error>* faults) {
  const std::span<const std::string_view> known = kube::MusterKeys();
  for (const char* texts : kTexts) {
    const YamlNode* map = Given(metadata, texts);
    if (map == nullptr) continue;
    for (const YamlEntry& entry : map->entries) {
      if (!entry.key.starts_with(kube::kMusterPrefix)) continue;
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      faults->push_back(
          {Code::kInvalidArgument,
           "Muster knows no such key" + DidYouMean(entry.key, {known.begin(), known.end()}),
           PathOf(path, texts, entry.key)});
    }
  }
}

void AddUnknownKeysBelow(const YamlNode& value, const std::string& path,
                         std::vector<Error>* faults) {
  for (std::size_t i = 0; i < value.items.size(); ++i)
    AddUnknownKeysBelow(value.items[i], Item(path, i), faults);
  for (const YamlEntry& entry : value.entries) {
    const std::string below = Joined(path, entry.key);
    if (entry.key == "metadata") AddUnknownKeys(entry.value, below, faults);
    AddUnknownKeysBelow(entry.value, below, faults);
  }
}

// The path of what this object says of its gang; nothing: it says nothing.
std::optional<std::string> SayingOf(const YamlNode* object) {
  const YamlNode* metadata = object == nullptr ? nullptr : Given(*object, "metadata");
  if (metadata == nullptr) return std::nullopt;
  for (const char* texts : kTexts) {
    const YamlNode* map = Given(*metadata, texts);
    if (map == nullptr) continue;
    for (const std::string_view key : {kube::kMinMemberAnnotation, kube::kGroupingOff}) {
      const std::string text = map->TextAt(key);
      if (text.empty() || (key == kube::kGroupingOff && text == "true")) continue;
      return PathOf("metadata", texts, key);
    }
  }
  return std::nullopt;
}

YamlNode TextNode(const std::string& text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kText;
  node.text = text;
  return node;
}

YamlNode NumberNode(const std::string& digits) {
  YamlNode node = TextNode(digits);
  node.kind = YamlNode::Kind::kPlain;
  return node;
}

// The value of that key, made where there is none.
YamlNode& Slot(YamlNode& map, const std::string& key) {
  map.kind = YamlNode::Kind::kMap;
  for (YamlEntry& entry : map.entries) {
    if (entry.key == key) return entry.value;
  }
  YamlEntry entry;
  entry.key = key;
  map.entries.push_back(std::move(entry));
  return map.entries.back().value;
}

void SetDefault(YamlNode& map, const std::string& key, YamlNode value) {
  YamlNode& slot = Slot(map, key);
  if (slot.kind == YamlNode::Kind::kNull) slot = std::move(value);
}

std::string NameOf(const YamlNode& object) {
  const YamlNode* metadata = Given(object, "metadata");
  const std::string name = metadata == nullptr ? std::string() : metadata->TextAt("name");
  return name.empty() ? "NAME" : name;
}

// What makes the pods, as an API server keeps it.
struct Owner {
  Owner(const YamlNode& object, const YamlNode& maker, bool job)
      : tree(maker), name(NameOf(object)) {
    kind = job ? "Job" : object.TextAt("kind");
    api_version = job ? "batch/v1" : object.TextAt("apiVersion");
    Slot(tree, "kind") = TextNode(kind);
    Slot(tree, "apiVersion") = TextNode(api_version);
    YamlNode& metadata = Slot(tree, "metadata");
    Slot(metadata, "name") = TextNode(name);
    Slot(metadata, "namespace") = TextNode("default");
    Slot(metadata, "uid") = TextNode(kUid);
    YamlNode& spec = Slot(tree, "spec");
    if (job) {
      SetDefault(spec, "completionMode", TextNode("NonIndexed"));
      SetDefault(spec, "parallelism", NumberNode("1"));
    } else {
      SetDefault(spec, "replicas", NumberNode("1"));
    }
    if (kind == "StatefulSet") SetDefault(spec, "podManagementPolicy", TextNode("OrderedReady"));
  }

  YamlNode tree;
  std::string name;
  std::string kind;
  std::string api_version;
};

// A pod of the template, as its owner makes it; null: nobody's.
YamlNode PodOf(const YamlNode& from, const Owner* owner) {
  YamlNode pod = from;
  YamlNode& metadata = Slot(pod, "metadata");
  Slot(metadata, "name") = TextNode(owner == nullptr ? NameOf(from) : owner->name + "-0");
  Slot(metadata, "namespace") = TextNode("default");
  if (owner == nullptr) return pod;
  YamlNode reference;
  Slot(reference, "apiVersion") = TextNode(owner->api_version);
  Slot(reference, "kind") = TextNode(owner->kind);
  Slot(reference, "name") = TextNode(owner->name);
  Slot(reference, "uid") = TextNode(kUid);
  Slot(reference, "controller") = NumberNode("true");
  YamlNode& owners = Slot(metadata, "ownerReferences");
  owners = {};
  owners.kind = YamlNode::Kind::kSequence;
  owners.items.push_back(std::move(reference));
  return pod;
}

Result<kube::Json> Parsed(const YamlNode& tree) {
  const Result<std::string> text = config::ToJson(tree, "");
  if (!text.ok()) return text.error();
  return kube::Json::Parse(*text, kMostBytes, "");
}

// What Muster would make of such pods; nothing: they cannot be read.
std::optional<kube::Grouping> GroupingOf(const YamlNode& from, const Owner* owner) {
  const cluster::GroupingRules rules = config::ShippedGroupingRules();
  const Result<kube::Json> pod = Parsed(PodOf(from, owner));
  const Result<kube::Json> maker = Parsed(owner == nullptr ? YamlNode() : owner->tree);
  if (!pod.ok() || !maker.ok()) return std::nullopt;
  return kube::JudgeGrouping(
      pod->root(), rules,
      [&](const kube::OwnerKey& key) {
        using State = kube::OwnerRead::State;
        const bool known = owner != nullptr && key.uid == kUid;
        return kube::OwnerRead{known ? State::kKnown : State::kForbidden,
                               known ? &maker->root() : nullptr};
      },
      cluster::UnreadableOwners::kAlone);
}

// Some metadata in it says how large a gang is.
bool SaysGangBelow(const YamlNode& value) {
  return SaysGang(&value) || std::any_of(value.items.begin(), value.items.end(), SaysGangBelow) ||
         std::any_of(value.entries.begin(), value.entries.end(),
                     [](const YamlEntry& entry) { return SaysGangBelow(entry.value); });
}

}  // namespace

std::vector<Error> UnknownMusterKeys(const YamlNode& object) {
  std::vector<Error> faults;
  AddUnknownKeysBelow(object, "", &faults);
  return faults;
}

bool SaysGang(const YamlNode* object) { return SayingOf(object).has_value(); }

std::string UnheededOf(const YamlNode& object) {
  if (SaysGangBelow(object)) return {};
  const Owner owner(object, object, false);
  const std::optional<kube::Grouping> grouping = GroupingOf(YamlNode(), &owner);
  if (!grouping || grouping->kind != kube::Grouping::Kind::kGang || grouping->unheeded.empty())
    return {};
  return "its gang needs " + std::to_string(grouping->minimum) + " pods: " + grouping->unheeded;
}

std::vector<Error> GangFaults(const YamlNode& object, const char* pod, const char* job) {
  const YamlNode* from = Follow(object, pod);
  const YamlNode* maker = job == nullptr ? &object : Follow(object, job);
  if (from == nullptr || maker == nullptr) return {};
  std::string place;
  for (const char* path : {pod, job == nullptr ? "" : job, ""}) {
    const std::optional<std::string> saying = SayingOf(Follow(object, path));
    if (saying && place.empty()) place = Joined(path, *saying);
  }
  if (place.empty()) return {};
  const bool alone = maker == from;
  const std::optional<Owner> owner =
      alone ? std::nullopt : std::optional<Owner>(std::in_place, object, *maker, job != nullptr);
  const std::optional<kube::Grouping> grouping = GroupingOf(*from, owner ? &*owner : nullptr);
  if (!grouping || grouping->kind != kube::Grouping::Kind::kRefused) return {};
  return {Error{Code::kInvalidArgument, "Muster would start none of its pods: " + grouping->reason,
                place}};
}

}  // namespace muster::cli
