#include "config/policy_reader.hpp"

#include <algorithm>
#include <utility>

#include "config/amounts.hpp"
#include "config/nearest_word.hpp"
#include "config/yaml_scalar.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

// "a, b or c"
template <typename Strings>
std::string Listed(const Strings& words, std::string_view last_joint) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last_joint : std::string_view(", ");
    text += words[i];
  }
  return text;
}

// Keys of ordinary length as they are, others cut and in quotes.
std::string ShownKey(const std::string& key) {
  const bool ordinary = key.size() <= 60 && key.find_first_of(" \n\t\"\\:") == std::string::npos;
  return ordinary && !key.empty() ? key : Quoted(key);
}

}  // namespace

PolicyReader::PolicyReader(const YamlNode& root, const std::string& file_name)
    : root_(root), file_name_(file_name) {}

Result<Policy> PolicyReader::Read() {
  if (root_.kind != YamlNode::Kind::kMap) {
    return Error{Code::kInvalidArgument,
                 "expected a policy (\"key: value\" lines), found " + Describe(root_),
                 At(file_name_, root_.mark)};
  }
  scopes_.push_back({&root_, "", {}});
  ReadHead();
  Policy policy;
  VisitPolicy(&policy, this);
  RefuseUnknownKeys();
  // Only values that are each right can contradict each other.
  if (!error_mark_) CheckContradictions(policy);
  if (error_mark_) return error_;
  policy.engine.bind_hold_timeout = cluster::Duration(policy.extender.http_timeout.value() * 4 / 5);
  return policy;
}

void PolicyReader::ReadHead() {
  const auto check = [&](std::string_view name, std::string_view value) {
    const YamlNode* node = Take({name, ""});
    if (node == nullptr) {
      Refuse(std::string(name), Mark{}, "expected " + std::string(value) + ", found nothing");
    } else if (!node->scalar() || node->text != value) {
      Expected(std::string(name), std::string(value), *node);
    }
  };
  check("apiVersion", kPolicyApiVersion);
  check("kind", kPolicyKind);
}

void PolicyReader::Section(const FieldInfo& info, const std::function<void()>& fields) {
  const std::string path = PathOf(info);
  const YamlNode* node = Take(info);
  if (node != nullptr && node->kind == YamlNode::Kind::kNull) node = nullptr;
  if (node != nullptr && node->kind != YamlNode::Kind::kMap) {
    Expected(path, "a section (\"key: value\" lines)", *node);
    node = nullptr;
  }
  scopes_.push_back({node, path + ".", {}});
  fields();
  RefuseUnknownKeys();
  scopes_.pop_back();
}

void PolicyReader::Duration(const FieldInfo& info, DurationRange range, cluster::Duration* value) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const std::optional<cluster::Duration> read =
      node->scalar() ? ParseDuration(node->text) : std::nullopt;
  if (!read || *read < range.least || *read > range.most) {
    return Expected(PathOf(info),
                    "a duration from " + FormatDuration(range.least) + " to " +
                        FormatDuration(range.most) + ", such as 90s or 1h30m",
                    *node);
  }
  *value = *read;
}

void PolicyReader::Whole(const FieldInfo& info, WholeRange range, int64_t* value) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const std::optional<int64_t> read =
      node->kind == YamlNode::Kind::kPlain ? ParseWhole(node->text) : std::nullopt;
  if (!read || *read < range.least || *read > range.most) {
    return Expected(
        PathOf(info),
        "a whole number from " + std::to_string(range.least) + " to " + std::to_string(range.most),
        *node);
  }
  *value = *read;
}

void PolicyReader::Size(const FieldInfo& info, WholeRange range, int64_t* bytes) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const std::optional<int64_t> read = node->scalar() ? ParseSize(node->text) : std::nullopt;
  if (!read || *read < range.least || *read > range.most) {
    return Expected(PathOf(info),
                    "a size from " + FormatSize(range.least) + " to " + FormatSize(range.most) +
                        ", such as 512KiB or 4MiB",
                    *node);
  }
  *bytes = *read;
}

void PolicyReader::Flag(const FieldInfo& info, bool* value) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const bool plain = node->kind == YamlNode::Kind::kPlain;
  if (!plain || (node->text != "true" && node->text != "false")) {
    return Expected(PathOf(info), "true or false", *node);
  }
  *value = node->text == "true";
}

const std::string* PolicyReader::TextOf(const std::string& path, std::string_view expected,
                                        const YamlNode& node) {
  if (!node.scalar()) {
    Expected(path, std::string(expected), node);
    return nullptr;
  }
  if (node.kind == YamlNode::Kind::kPlain && ResolvePlain(node.text).type != ScalarType::kText) {
    Refuse(path, node.mark,
           "expected " + std::string(expected) + ", found " + node.text +
               ", which YAML takes for a number or a truth value: put it in quotes");
    return nullptr;
  }
  return &node.text;
}

void PolicyReader::Text(const FieldInfo& info, const TextRule& rule, std::string* value) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const std::string* text = TextOf(PathOf(info), rule.expected, *node);
  if (text == nullptr) return;
  if (!rule.accepts(*text)) return Expected(PathOf(info), std::string(rule.expected), *node);
  *value = *text;
}

void PolicyReader::TextList(const FieldInfo& info, const TextRule& rule,
                            std::vector<std::string>* values) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  if (node->kind != YamlNode::Kind::kSequence) {
    return Expected(PathOf(info), "a list such as [first, second]", *node);
  }
  std::map<std::string_view, std::size_t> seen;
  std::vector<std::string> read;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const YamlNode& item = node->items[i];
    const std::string path = PathOf(info) + "[" + std::to_string(i) + "]";
    const std::string* text = TextOf(path, rule.expected, item);
    if (text == nullptr) return;
    if (!rule.accepts(*text)) return Expected(path, std::string(rule.expected), item);
    const auto [first, fresh] = seen.emplace(*text, i);
    if (!fresh) {
      return Refuse(path, item.mark,
                    "expected each entry once, found " + Quoted(*text) + " again (first as [" +
                        std::to_string(first->second) + "])");
    }
    read.push_back(*text);
  }
  *values = std::move(read);
}

void PolicyReader::Choice(const FieldInfo& info, const Words& words, std::size_t* chosen) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const auto found =
      node->scalar() ? std::find(words.begin(), words.end(), node->text) : words.end();
  if (found == words.end()) return Expected(PathOf(info), Listed(words, " or "), *node);
  *chosen = static_cast<std::size_t>(found - words.begin());
}

void PolicyReader::Retired(const FieldInfo& info, std::vector<std::string>* notes) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  notes->push_back(At(file_name_, node->mark) + ": " + PathOf(info) +
                   ": has no effect any more, leave it out: " + std::string(info.help));
}

const YamlNode* PolicyReader::Take(const FieldInfo& info) {
  Scope& scope = scopes_.back();
  scope.known.emplace_back(info.name);
  if (scope.map == nullptr) return nullptr;
  const YamlNode* node = scope.map->Find(info.name);
  if (node != nullptr) marks_[PathOf(info)] = node->mark;
  return node;
}

void PolicyReader::RefuseUnknownKeys() {
  const Scope& scope = scopes_.back();
  if (scope.map == nullptr) return;
  for (const YamlEntry& entry : scope.map->entries) {
    if (std::find(scope.known.begin(), scope.known.end(), entry.key) != scope.known.end()) continue;
    Refuse(scope.prefix + ShownKey(entry.key), entry.mark, "unknown field, " + Advice(entry.key));
    return;  // entries are in the order of the file: this is the first
  }
}

// A word like it here, or the same word elsewhere, or all words that are known here.
std::string PolicyReader::Advice(const std::string& key) const {
  const Scope& scope = scopes_.back();
  if (const auto near = NearestWord(key, scope.known)) return "did you mean " + *near + "?";
  for (const std::string& path : ListPolicyFields()) {
    if (path.substr(path.rfind('.') + 1) == key) return "did you mean " + path + "?";
  }
  return "expected " + Listed(scope.known, " or ");
}

void PolicyReader::CheckContradictions(const Policy& policy) {
  for (Contradiction& contradiction : FindContradictions(policy)) {
    // The field itself may be missing: its section, then, or the top of the file.
    std::string path = contradiction.field;
    while (!path.empty() && marks_.find(path) == marks_.end()) {
      path.erase(path.find('.') == std::string::npos ? 0 : path.rfind('.'));
    }
    Refuse(contradiction.field, path.empty() ? Mark{} : marks_.at(path),
           std::move(contradiction.message));
  }
}

void PolicyReader::Expected(const std::string& path, const std::string& expected,
                            const YamlNode& found) {
  Refuse(path, found.mark, "expected " + expected + ", found " + Describe(found));
}

void PolicyReader::Refuse(const std::string& path, Mark mark, std::string message) {
  if (error_mark_ && *error_mark_ <= mark) return;
  error_mark_ = mark;
  error_ = Error{Code::kInvalidArgument, path + ": " + std::move(message), At(file_name_, mark)};
}

}  // namespace muster::config
