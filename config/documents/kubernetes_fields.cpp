#include "config/documents/kubernetes_fields.hpp"

#include <optional>
#include <utility>

#include "cluster/base/check.hpp"
#include "config/listed.hpp"
#include "config/nearest_word.hpp"
#include "config/shipped_files.hpp"
#include "config/yaml/yaml_parser.hpp"
#include "config/yaml/yaml_scalar.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;

namespace {

constexpr std::string_view kFreeName = "*";
constexpr std::string_view kPodTemplate = "PodTemplateSpec";
constexpr std::size_t kMostListed = 8;  // fields in one message

std::string KindOf(const YamlNode& object) {
  return object.TextAt("apiVersion") + "/" + object.TextAt("kind");
}

// `spec` with containers: whatever the object around it is, pods are made of it.
bool IsPodTemplate(const YamlNode& map) {
  const YamlNode* spec = map.Find("spec");
  const YamlNode* containers = spec == nullptr ? nullptr : spec->Find("containers");
  return containers != nullptr && containers->kind == YamlNode::Kind::kSequence;
}

ScalarType TypeOf(const YamlNode& scalar) {
  return scalar.kind == YamlNode::Kind::kText ? ScalarType::kText : ResolvePlain(scalar.text).type;
}

// What a text without its quotes would be.
bool QuotedOnly(const YamlNode& scalar, ScalarType type) {
  return scalar.kind == YamlNode::Kind::kText && ResolvePlain(scalar.text).type == type;
}

}  // namespace

// Of one object.
class KubernetesFields::Check {
 public:
  explicit Check(const KubernetesFields& known) : known_(known) {}

  // `schema`: a value in config/kubernetes/.
  void Value(const YamlNode& schema, const YamlNode& value, const std::string& path);
  void Type(std::string_view type, const YamlNode& value, const std::string& path);
  // In an object whose own fields are not known: the pod templates and objects in it.
  void Inside(const YamlNode& value, const std::string& path);
  std::vector<Error> Take() { return std::move(faults_); }

 private:
  void Fields(const YamlNode& fields, const YamlNode& value, const std::string& path);
  void FreeNames(const YamlNode& schema, const YamlNode& value, const std::string& path);
  // An object of a kind that is known, a pod template, or what has such within.
  void Any(const YamlNode& value, const std::string& path);
  void Resources(const YamlNode& value, const std::string& path);
  void Scalar(std::string_view word, const YamlNode& value, const std::string& path);
  bool Expect(YamlNode::Kind kind, const YamlNode& value, const std::string& path);
  void Refuse(const std::string& path, std::string message) {
    faults_.push_back({Code::kInvalidArgument, std::move(message), path});
  }

  const KubernetesFields& known_;
  std::vector<Error> faults_;
};

void KubernetesFields::Check::Value(const YamlNode& schema, const YamlNode& value,
                                    const std::string& path) {
  if (value.kind == YamlNode::Kind::kNull) return;  // as good as not there
  if (schema.scalar()) return Type(schema.text, value, path);
  if (schema.kind == YamlNode::Kind::kMap) return FreeNames(*schema.Find(kFreeName), value, path);
  if (!Expect(YamlNode::Kind::kSequence, value, path)) return;
  for (std::size_t i = 0; i < value.items.size(); ++i)
    Value(schema.items.front(), value.items[i], path + "[" + std::to_string(i) + "]");
}

void KubernetesFields::Check::Type(std::string_view type, const YamlNode& value,
                                   const std::string& path) {
  if (type == "any") return Any(value, path);
  if (type == "resources") return Resources(value, path);
  const auto fields = known_.types_.find(type);
  if (fields != known_.types_.end()) return Fields(*fields->second, value, path);
  Scalar(type, value, path);
}

void KubernetesFields::Check::Fields(const YamlNode& fields, const YamlNode& value,
                                     const std::string& path) {
  if (!Expect(YamlNode::Kind::kMap, value, path)) return;
  for (const YamlEntry& entry : value.entries) {
    const std::string at = path.empty() ? entry.key : path + "." + entry.key;
    if (const YamlNode* schema = fields.Find(entry.key); schema != nullptr) {
      Value(*schema, entry.value, at);
      continue;
    }
    std::vector<std::string> words;
    for (const YamlEntry& field : fields.entries) words.push_back(field.key);
    const std::optional<std::string> near = NearestWord(entry.key, words);
    Refuse(at, near                          ? "unknown field, did you mean " + *near + "?"
               : words.empty()               ? "unknown field, expected none here"
               : words.size() <= kMostListed ? "unknown field, expected " + Listed(words, " or ")
                                             : "unknown field, leave it out");
  }
}

void KubernetesFields::Check::FreeNames(const YamlNode& schema, const YamlNode& value,
                                        const std::string& path) {
  if (!Expect(YamlNode::Kind::kMap, value, path)) return;
  for (const YamlEntry& entry : value.entries)
    Value(schema, entry.value, path + "[\"" + entry.key + "\"]");
}

void KubernetesFields::Check::Resources(const YamlNode& value, const std::string& path) {
  if (!Expect(YamlNode::Kind::kMap, value, path)) return;
  for (const YamlEntry& entry : value.entries) {
    const std::string at = path + "[\"" + entry.key + "\"]";
    if (std::string wrong = known_.wrong_resource_(entry.key); !wrong.empty()) {
      Refuse(at, std::move(wrong));
    } else if (entry.value.kind != YamlNode::Kind::kNull) {
      Scalar("scalar", entry.value, at);
    }
  }
}

void KubernetesFields::Check::Scalar(std::string_view word, const YamlNode& value,
                                     const std::string& path) {
  const std::string expected = word == "text"      ? "text"
                               : word == "whole"   ? "a whole number"
                               : word == "boolean" ? "true or false"
                                                   : "text or a number";
  std::string found = "expected " + expected + ", found " + Describe(value);
  if (!value.scalar()) return Refuse(path, std::move(found));
  const ScalarType type = TypeOf(value);
  if (type == ScalarType::kNull) return;
  if (word == "text") {
    if (type != ScalarType::kText)
      Refuse(path, "expected text, found " + value.text +
                       ", which YAML takes for a number or a truth value: put it in quotes");
    return;
  }
  const ScalarType wanted = word == "boolean" ? ScalarType::kBoolean : ScalarType::kInteger;
  if (word == "scalar" ? type != ScalarType::kBoolean : type == wanted) return;
  Refuse(path, found + (QuotedOnly(value, wanted) ? ": leave the quotes out" : ""));
}

bool KubernetesFields::Check::Expect(YamlNode::Kind kind, const YamlNode& value,
                                     const std::string& path) {
  if (value.kind == kind) return true;
  const bool list = kind == YamlNode::Kind::kSequence;
  Refuse(path, std::string("expected ") +
                   (list ? "a list (\"- item\" lines)" : "a section (\"key: value\" lines)") +
                   ", found " + Describe(value));
  return false;
}

void KubernetesFields::Check::Inside(const YamlNode& value, const std::string& path) {
  for (std::size_t i = 0; i < value.items.size(); ++i)
    Any(value.items[i], path + "[" + std::to_string(i) + "]");
  for (const YamlEntry& entry : value.entries)
    Any(entry.value, path.empty() ? entry.key : path + "." + entry.key);
}

void KubernetesFields::Check::Any(const YamlNode& value, const std::string& path) {
  const auto kind = known_.kinds_.find(KindOf(value));
  if (kind != known_.kinds_.end()) return Type(kind->second, value, path);
  if (IsPodTemplate(value)) return Type(kPodTemplate, value, path);
  Inside(value, path);
}

KubernetesFields::KubernetesFields(ResourceRule wrong_resource) : wrong_resource_(wrong_resource) {
  for (const ShippedFile& file : ShippedKubernetes()) {
    cluster::Result<std::vector<YamlNode>> read =
        ParseYaml(file.text, std::string(file.name), YamlRules{});
    MUSTER_CHECK(read.ok() && read->size() == 1);
    files_.push_back(std::move(read->front()));
  }
  for (const YamlNode& file : files_) {
    for (const YamlEntry& kind : file.Find("kinds")->entries) kinds_[kind.key] = kind.value.text;
    for (const YamlEntry& type : file.Find("types")->entries) types_[type.key] = &type.value;
  }
}

bool KubernetesFields::Knows(const YamlNode& object) const {
  return kinds_.find(KindOf(object)) != kinds_.end();
}

std::vector<Error> KubernetesFields::FaultsOf(const YamlNode& object) const {
  Check check(*this);
  const auto kind = kinds_.find(KindOf(object));
  if (kind != kinds_.end()) {
    check.Type(kind->second, object, "");
  } else {
    if (const YamlNode* metadata = object.Find("metadata"); metadata != nullptr)
      check.Value(YamlNode{YamlNode::Kind::kPlain, {}, "ObjectMeta", {}, {}}, *metadata,
                  "metadata");
    check.Inside(object, "");
  }
  return check.Take();
}

}  // namespace muster::config
