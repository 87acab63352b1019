#include "config/documents/node_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "config/fields/amounts.hpp"
#include "config/nearest_word.hpp"
#include "config/yaml/yaml_json.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr int64_t kMostNodes = 100'000;

Error Expected(const std::string& path, const std::string& expected, const YamlNode* found) {
  return Error{
      Code::kInvalidArgument,
      "expected " + expected + ", found " + (found == nullptr ? "nothing" : Describe(*found)),
      path};
}

YamlNode TextNode(std::string text, Mark mark) {
  YamlNode node;
  node.kind = YamlNode::Kind::kText;
  node.mark = mark;
  node.text = std::move(text);
  return node;
}

YamlNode MapNode(Mark mark) {
  YamlNode node;
  node.kind = YamlNode::Kind::kMap;
  node.mark = mark;
  return node;
}

void Add(YamlNode* map, std::string key, YamlNode value) {
  const Mark mark = value.mark;
  map->entries.push_back({std::move(key), mark, std::move(value)});
}

// The value of {index}, {index/N}, {index%N} or {name}; nothing for other text in braces.
std::optional<std::string> Placeholder(std::string_view inner, const std::string& name,
                                       int64_t index) {
  constexpr std::string_view kIndex = "index";
  if (inner == "name") return name;
  if (inner.substr(0, kIndex.size()) != kIndex) return std::nullopt;
  inner.remove_prefix(kIndex.size());
  if (inner.empty()) return std::to_string(index);
  const std::optional<int64_t> divisor = ParseWhole(inner.substr(1));
  if (!divisor || *divisor == 0) return std::nullopt;
  if (inner.front() == '/') return std::to_string(index / *divisor);
  if (inner.front() == '%') return std::to_string(index % *divisor);
  return std::nullopt;
}

// Other text in braces stays: annotations may hold JSON.
std::string Substitute(std::string_view text, const std::string& name, int64_t index) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    result += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    const auto value = close == std::string_view::npos
                           ? std::nullopt
                           : Placeholder(text.substr(1, close - 1), name, index);
    result += value ? *value : "{";
    text.remove_prefix(value ? close + 1 : 1);
  }
  return result;
}

// A NodePool document, read and checked.
class Pool {
 public:
  // Paths in errors are those of `document`.
  static Result<Pool> Read(const ManifestDocument& document);

  int64_t count() const { return count_; }
  YamlNode MakeNode(int64_t index) const;

 private:
  explicit Pool(const YamlNode& root) : root_(root) {}

  // The map at `key` of `map`, which may have only the keys of `known`; null when it is absent.
  Result<const YamlNode*> Section(const YamlNode* map, const std::string& path,
                                  const std::vector<std::string>& known) const;
  static cluster::Status CheckKeys(const YamlNode& map, const std::string& path,
                                   const std::vector<std::string>& known);
  cluster::Status ReadTemplate(const YamlNode* spec);
  YamlNode MakeMetadata(int64_t index) const;
  YamlNode MakeStatus() const;
  std::string NameOf(int64_t index) const;

  const YamlNode& root_;
  std::string name_;
  int64_t count_ = 0;
  const YamlNode* labels_ = nullptr;  // the parts of the template, null when absent
  const YamlNode* annotations_ = nullptr;
  const YamlNode* node_spec_ = nullptr;
  const YamlNode* status_ = nullptr;
};

cluster::Status Pool::CheckKeys(const YamlNode& map, const std::string& path,
                                const std::vector<std::string>& known) {
  if (known.empty()) return cluster::Ok{};  // as Kubernetes has it, and decodes it
  for (const YamlEntry& entry : map.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const std::optional<std::string> near = NearestWord(entry.key, known);
    std::string message = "unknown field";
    if (near) message += ", did you mean " + *near + "?";
    return Error{Code::kInvalidArgument, std::move(message),
                 path + (path.empty() ? "" : ".") + entry.key};
  }
  return cluster::Ok{};
}

Result<const YamlNode*> Pool::Section(const YamlNode* map, const std::string& path,
                                      const std::vector<std::string>& known) const {
  const YamlNode* node = map == nullptr ? nullptr : map->Find(path.substr(path.rfind('.') + 1));
  if (node == nullptr || node->kind == YamlNode::Kind::kNull) {
    return static_cast<const YamlNode*>(nullptr);
  }
  if (node->kind != YamlNode::Kind::kMap) return Expected(path, "a map", node);
  const cluster::Status keys = CheckKeys(*node, path, known);
  if (!keys.ok()) return keys.error();
  return node;
}

Result<Pool> Pool::Read(const ManifestDocument& document) {
  Pool pool(document.source());
  const cluster::Status keys =
      CheckKeys(pool.root_, "", {"apiVersion", "kind", "metadata", "spec"});
  if (!keys.ok()) return keys.error();
  const auto metadata = pool.Section(&pool.root_, "metadata", {"name"});
  if (!metadata.ok()) return metadata.error();
  const YamlNode* name = *metadata == nullptr ? nullptr : (*metadata)->Find("name");
  // Room is left for "-" and the number: names of nodes have at most 63 characters here.
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  const bool valid = name != nullptr && name->scalar() && !name->text.empty() &&
                     name->text.size() <= 50 && name->text.front() != '-' &&
                     std::all_of(name->text.begin(), name->text.end(), good);
  if (!valid) {
    return Expected("metadata.name", "lower-case letters, digits and '-', at most 50", name);
  }
  pool.name_ = name->text;
  const auto spec = pool.Section(&pool.root_, "spec", {"count", "template"});
  if (!spec.ok()) return spec.error();
  const YamlNode* count = *spec == nullptr ? nullptr : (*spec)->Find("count");
  const std::optional<int64_t> number = count != nullptr && count->kind == YamlNode::Kind::kPlain
                                            ? ParseWhole(count->text)
                                            : std::nullopt;
  if (!number || *number < 1 || *number > kMostNodes) {
    return Expected("spec.count", "a whole number from 1 to " + std::to_string(kMostNodes), count);
  }
  pool.count_ = *number;
  const cluster::Status read = pool.ReadTemplate(*spec);
  if (!read.ok()) return read.error();
  return pool;
}

cluster::Status Pool::ReadTemplate(const YamlNode* spec) {
  const std::string path = "spec.template";
  const auto node = Section(spec, path, {"metadata", "spec", "status"});
  if (!node.ok()) return node.error();
  if (*node == nullptr) return Expected(path, "a map of metadata, spec and status", nullptr);
  const auto metadata = Section(*node, path + ".metadata", {"labels", "annotations"});
  if (!metadata.ok()) return metadata.error();
  struct Part {
    const YamlNode* around;
    const char* path;
    const YamlNode** part;
  };
  for (const Part& part : {Part{*metadata, ".metadata.labels", &labels_},
                           Part{*metadata, ".metadata.annotations", &annotations_},
                           Part{*node, ".spec", &node_spec_}, Part{*node, ".status", &status_}}) {
    const auto found = Section(part.around, path + part.path, {});
    if (!found.ok()) return found.error();
    *part.part = *found;
  }
  if (status_ == nullptr || status_->Find("allocatable") == nullptr) {
    return Expected(path + ".status.allocatable", "what a node of this pool can give", nullptr);
  }
  return cluster::Ok{};
}

std::string Pool::NameOf(int64_t index) const {
  const std::size_t digits = std::to_string(count_ - 1).size();
  const std::string number = std::to_string(index);
  return name_ + "-" + std::string(digits - number.size(), '0') + number;
}

YamlNode Pool::MakeMetadata(int64_t index) const {
  const std::string name = NameOf(index);
  const auto substituted = [&](const YamlNode* map) {
    YamlNode copy = map == nullptr ? MapNode(root_.mark) : *map;
    for (YamlEntry& entry : copy.entries) {
      if (!entry.value.scalar()) continue;
      std::string text = Substitute(entry.value.text, name, index);
      if (text == entry.value.text) continue;
      entry.value.text = std::move(text);
      entry.value.kind = YamlNode::Kind::kText;
    }
    return copy;
  };
  YamlNode labels = substituted(labels_);
  if (labels.Find("kubernetes.io/hostname") == nullptr) {
    Add(&labels, "kubernetes.io/hostname", TextNode(name, labels.mark));
  }
  YamlNode metadata = MapNode(root_.Find("metadata")->mark);
  Add(&metadata, "name", TextNode(name, root_.Find("metadata")->Find("name")->mark));
  Add(&metadata, "labels", std::move(labels));
  if (annotations_ != nullptr) Add(&metadata, "annotations", substituted(annotations_));
  return metadata;
}

YamlNode Pool::MakeStatus() const {
  YamlNode status = *status_;
  if (status.Find("capacity") == nullptr) Add(&status, "capacity", *status.Find("allocatable"));
  if (status.Find("conditions") == nullptr) {
    YamlNode ready = MapNode(status.mark);
    Add(&ready, "type", TextNode("Ready", status.mark));
    Add(&ready, "status", TextNode("True", status.mark));
    YamlNode conditions;
    conditions.kind = YamlNode::Kind::kSequence;
    conditions.mark = status.mark;
    conditions.items.push_back(std::move(ready));
    Add(&status, "conditions", std::move(conditions));
  }
  return status;
}

YamlNode Pool::MakeNode(int64_t index) const {
  YamlNode node = MapNode(root_.mark);
  Add(&node, "apiVersion", TextNode("v1", root_.mark));
  Add(&node, "kind", TextNode("Node", root_.mark));
  Add(&node, "metadata", MakeMetadata(index));
  if (node_spec_ != nullptr) Add(&node, "spec", *node_spec_);
  Add(&node, "status", MakeStatus());
  return node;
}

cluster::Status Expand(const ManifestDocument& document, std::vector<ManifestDocument>* expanded) {
  const Result<Pool> pool = Pool::Read(document);
  if (!pool.ok()) return document.Locate(pool.error());
  // All nodes of a pool have the same structure and marks: one tree serves for all locations.
  const auto first = std::make_shared<const YamlNode>(pool->MakeNode(0));
  for (int64_t index = 0; index < pool->count(); ++index) {
    Result<std::string> json = ToJson(pool->MakeNode(index), document.file_name());
    if (!json.ok()) return json.error();
    expanded->emplace_back(*std::move(json), first, document.file_name());
  }
  return cluster::Ok{};
}

}  // namespace

Result<std::vector<ManifestDocument>> ExpandNodePools(std::vector<ManifestDocument> documents) {
  std::vector<ManifestDocument> expanded;
  for (ManifestDocument& document : documents) {
    if (document.kind() != kNodePoolKind) {
      expanded.push_back(std::move(document));
      continue;
    }
    if (document.api_version() != kNodePoolApiVersion) {
      return document.Locate(Expected("apiVersion", std::string(kNodePoolApiVersion),
                                      document.source().Find("apiVersion")));
    }
    const cluster::Status done = Expand(document, &expanded);
    if (!done.ok()) return done.error();
  }
  return expanded;
}

}  // namespace muster::config
