#include "config/documents/manifest.hpp"

#include <charconv>
#include <utility>

#include "config/file.hpp"
#include "config/yaml/yaml_json.hpp"
#include "config/yaml/yaml_parser.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

YamlRules ManifestRules() {
  YamlRules rules;
  rules.max_bytes = kMaxManifestBytes;
  rules.max_depth = 100;
  rules.max_nodes = 1'000'000;
  rules.aliases = true;
  rules.typed_keys = true;
  return rules;
}

// The longest key of `map` that `path` begins with, whole: before the end, a dot or a bracket.
const YamlEntry* LongestKey(const YamlNode& map, std::string_view path) {
  const YamlEntry* longest = nullptr;
  for (const YamlEntry& entry : map.entries) {
    const std::string_view key = entry.key;
    if (key.empty() || path.substr(0, key.size()) != key) continue;
    const bool whole =
        path.size() == key.size() || path[key.size()] == '.' || path[key.size()] == '[';
    if (whole && (longest == nullptr || key.size() > longest->key.size())) longest = &entry;
  }
  return longest;
}

struct Step {
  Mark mark;
  const YamlNode* node = nullptr;  // null: `path` leads nowhere
};

// Where a map's entry is shown: its value, unless that is nothing or begins on a later line.
Step Into(const YamlEntry& entry) {
  const bool key =
      entry.value.kind == YamlNode::Kind::kNull || entry.value.mark.line != entry.mark.line;
  return {key ? entry.mark : entry.value.mark, &entry.value};
}

// One step down from `node`, which is taken from the front of `path`.
Step TakeStep(const YamlNode& node, std::string_view* path) {
  if (path->front() == '[') {
    const std::size_t end = path->find(']');
    if (end == std::string_view::npos) return {};
    std::string_view inner = path->substr(1, end - 1);
    path->remove_prefix(end + 1);
    if (node.kind == YamlNode::Kind::kSequence) {
      std::size_t index = 0;
      const auto [last, error] = std::from_chars(inner.data(), inner.data() + inner.size(), index);
      const bool found =
          error == std::errc() && last == inner.data() + inner.size() && index < node.items.size();
      return found ? Step{node.items[index].mark, &node.items[index]} : Step{};
    }
    if (inner.size() > 1 && inner.front() == '"' && inner.back() == '"') {
      inner = inner.substr(1, inner.size() - 2);
    }
    for (const YamlEntry& entry : node.entries) {
      if (entry.key == inner) return Into(entry);
    }
    return {};
  }
  if (path->front() == '.') path->remove_prefix(1);
  const YamlEntry* entry = LongestKey(node, *path);
  if (entry == nullptr) return {};
  path->remove_prefix(entry->key.size());
  return Into(*entry);
}

void SayText(YamlNode& map, const std::string& key, const std::string& text) {
  if (map.Find(key) != nullptr) return;
  YamlEntry entry;
  entry.key = key;
  entry.mark = map.mark;
  entry.value.kind = YamlNode::Kind::kText;
  entry.value.mark = map.mark;
  entry.value.text = text;
  map.entries.push_back(std::move(entry));
}

// A list of one kind (PodList) as a List, whose items say what they are.
void MakeList(YamlNode& tree) {
  constexpr std::string_view kList = "List";
  const std::string version = tree.TextAt("apiVersion");
  std::string kind = tree.TextAt("kind");
  const YamlNode* items = tree.Find("items");
  if (kind == kList || !kind.ends_with(kList) || items == nullptr ||
      items->kind != YamlNode::Kind::kSequence)
    return;
  kind.resize(kind.size() - kList.size());
  for (YamlEntry& entry : tree.entries) {
    if (entry.key == "apiVersion") entry.value.text = "v1";
    if (entry.key == "kind") entry.value.text = kList;
    if (entry.key != "items") continue;
    for (YamlNode& item : entry.value.items) {
      if (item.kind != YamlNode::Kind::kMap) continue;
      SayText(item, "apiVersion", version);
      SayText(item, "kind", kind);
    }
  }
}

Error Missing(const std::string& file_name, const YamlNode& document, const std::string& field) {
  return Error{Code::kInvalidArgument,
               field + ": expected a text, as every Kubernetes object has it, found " +
                   (document.Find(field) == nullptr ? "nothing" : Describe(*document.Find(field))),
               At(file_name, document.mark)};
}

}  // namespace

ManifestDocument::ManifestDocument(std::string json, std::shared_ptr<const YamlNode> source,
                                   std::string file_name)
    : json_(std::move(json)), source_(std::move(source)), file_name_(std::move(file_name)) {}

std::string_view ManifestDocument::TextAt(std::string_view key) const {
  const YamlNode* node = source_->Find(key);
  return node == nullptr ? std::string_view() : node->text;
}

std::string ManifestDocument::LocationOf(std::string_view path) const {
  const YamlNode* node = source_.get();
  Mark mark = node->mark;
  while (!path.empty()) {
    const Step step = TakeStep(*node, &path);
    if (step.node == nullptr) break;
    mark = step.mark;
    node = step.node;
  }
  return At(file_name_, mark);
}

Error ManifestDocument::Locate(const Error& error) const {
  Error located = error;
  located.message = error.ToString();
  located.place = LocationOf(error.place);
  return located;
}

Result<std::vector<ManifestDocument>> ParseManifests(std::string_view text,
                                                     const std::string& file_name) {
  Result<std::vector<YamlNode>> trees = ParseYaml(text, file_name, ManifestRules());
  if (!trees.ok()) return trees.error();
  std::vector<ManifestDocument> documents;
  documents.reserve(trees->size());
  for (YamlNode& tree : *trees) {
    if (tree.kind != YamlNode::Kind::kMap) {
      return Error{Code::kInvalidArgument,
                   "expected a Kubernetes object (\"key: value\" lines), found " + Describe(tree),
                   At(file_name, tree.mark)};
    }
    for (const char* field : {"apiVersion", "kind"}) {
      const YamlNode* value = tree.Find(field);
      if (value == nullptr || !value->scalar() || value->text.empty()) {
        return Missing(file_name, tree, field);
      }
    }
    MakeList(tree);
    Result<std::string> json = ToJson(tree, file_name);
    if (!json.ok()) return json.error();
    documents.emplace_back(*std::move(json), std::make_shared<const YamlNode>(std::move(tree)),
                           file_name);
  }
  return documents;
}

Result<std::vector<ManifestDocument>> ParseManifestFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxManifestBytes);
  if (!text.ok()) return text.error();
  return ParseManifests(*text, path);
}

}  // namespace muster::config
