#include "config/fields/field_reader.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/fields/amounts.hpp"
#include "config/fields/field_lister.hpp"
#include "config/listed.hpp"
#include "config/nearest_word.hpp"
#include "config/yaml/yaml_scalar.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;

namespace {

// Keys of ordinary length as they are, others cut and in quotes.
std::string ShownKey(std::string_view key) {
  const bool ordinary = key.size() <= 60 && key.find_first_of(" \n\t\"\\:") == std::string::npos;
  return ordinary && !key.empty() ? std::string(key) : Quoted(key);
}

}  // namespace

void FieldReader::Read(const YamlNode& root) {
  scopes_.push_back({&root, "", {}});
  fields_(this);
  RefuseOddKeys(root.entries);
  scopes_.pop_back();
}

void FieldReader::Section(const FieldInfo& info, const std::function<void()>& fields) {
  const std::string path = PathOf(info.name);
  const bool element = scopes_.back().element != nullptr;
  const bool item = element && scopes_.back().node->kind == YamlNode::Kind::kSequence;
  const YamlNode* node = Take(info);
  const bool null = node != nullptr && node->kind == YamlNode::Kind::kNull;
  if (null && !element) {
    node = nullptr;  // "gangs:" is as good as none
  } else if (node != nullptr && node->kind != YamlNode::Kind::kMap && (item || !null)) {
    Expected(path, "a section (\"key: value\" lines)", *node);
    node = nullptr;
  }
  scopes_.push_back({node, path + ".", {}});
  fields();
  if (node != nullptr) RefuseOddKeys(node->entries);
  scopes_.pop_back();
}

void FieldReader::List(const FieldInfo& info, Elements* items) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const std::string path = PathOf(info.name);
  if (node->kind != YamlNode::Kind::kSequence) {
    return Expected(path, "a list (\"- \" lines; [] for none)", *node);
  }
  items->Clear();
  scopes_.push_back({node, path, {}});
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    scopes_.back().element = &node->items[i];
    items->Add("[" + std::to_string(i) + "]", this);
  }
  scopes_.pop_back();
}

void FieldReader::Named(const TextRule& names, Elements* entries) {
  const YamlNode* map = scopes_.back().node;
  scopes_.back().open = true;
  if (map == nullptr) return;
  std::map<std::string, const YamlEntry*> added;
  for (const YamlEntry& entry : map->entries) {
    if (Knows(entry.key) || entry.first_line > 0) continue;
    if (names.accepts(entry.key)) {
      const std::string name = names.canonical == nullptr ? entry.key : names.canonical(entry.key);
      const auto [first, is_new] = added.try_emplace(name, &entry);
      if (!is_new) {
        Refuse(PathOf(entry.key), entry.mark,
               "expected " + name + " once, found it again (first as " + first->second->key +
                   " on line " + std::to_string(first->second->mark.line) + ")");
        continue;
      }
      if (added.size() == 1) entries->Clear();
      scopes_.back().element = &entry.value;
      entries->Add(name, this);
    } else if (Admits(entry.mark)) {
      if (const std::string_view answer = AnswerTo(entry.key); !answer.empty()) {
        Refuse(PathOf(entry.key), entry.mark, std::string(answer));
        continue;
      }
      const auto near = NearestWord(entry.key, scopes_.back().known);
      Refuse(PathOf(entry.key), entry.mark,
             "expected " + std::string(names.expected) + ", found " + Quoted(entry.key) +
                 (near ? ", did you mean " + *near + "?" : ""));
    }
  }
}

void FieldReader::Duration(const FieldInfo& info, DurationRange range, cluster::Duration* value) {
  const auto allowed = [&](cluster::Duration one) {
    return range.least <= one && one <= range.most;
  };
  const std::string expected = "a duration from " + FormatDuration(range.least) + " to " +
                               FormatDuration(range.most) + ", such as 90s or 1h30m";
  const YamlNode* node = TakeOrNeed(info, allowed(*value), expected);
  if (node == nullptr) return;
  const std::optional<cluster::Duration> read =
      node->scalar() ? ParseDuration(node->text) : std::nullopt;
  if (!read || !allowed(*read)) return Expected(PathOf(info.name), expected, *node);
  *value = *read;
}

void FieldReader::Whole(const FieldInfo& info, WholeRange range, int64_t* value) {
  const auto allowed = [&](int64_t one) { return range.least <= one && one <= range.most; };
  const std::string expected =
      "a whole number from " + std::to_string(range.least) + " to " + std::to_string(range.most);
  const YamlNode* node = TakeOrNeed(info, allowed(*value), expected);
  if (node == nullptr) return;
  const std::optional<int64_t> read =
      node->kind == YamlNode::Kind::kPlain ? ParseWhole(node->text) : std::nullopt;
  if (!read || !allowed(*read)) return Expected(PathOf(info.name), expected, *node);
  *value = *read;
}

void FieldReader::Size(const FieldInfo& info, WholeRange range, int64_t* bytes) {
  const auto allowed = [&](int64_t one) { return range.least <= one && one <= range.most; };
  const std::string expected = "a size from " + FormatSize(range.least) + " to " +
                               FormatSize(range.most) + ", such as 512KiB or 4MiB";
  const YamlNode* node = TakeOrNeed(info, allowed(*bytes), expected);
  if (node == nullptr) return;
  const std::optional<int64_t> read = node->scalar() ? ParseSize(node->text) : std::nullopt;
  if (!read || !allowed(*read)) return Expected(PathOf(info.name), expected, *node);
  *bytes = *read;
}

void FieldReader::Flag(const FieldInfo& info, bool* value) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const bool plain = node->kind == YamlNode::Kind::kPlain;
  if (!plain || (node->text != "true" && node->text != "false")) {
    return Expected(PathOf(info.name), "true or false", *node);
  }
  *value = node->text == "true";
}

const std::string* FieldReader::TextOf(const std::string& path, const TextRule& rule,
                                       const YamlNode& node) {
  const bool taken = rule.numbers && rule.accepts(node.text);
  if (node.kind == YamlNode::Kind::kPlain && !taken &&
      ResolvePlain(node.text).type != ScalarType::kText) {
    Refuse(path, node.mark,
           "expected " + std::string(rule.expected) + ", found " + node.text +
               ", which YAML takes for a number or a truth value: put it in quotes");
    return nullptr;
  }
  if (node.scalar() && rule.accepts(node.text)) return &node.text;
  if (node.scalar() && rule.wrong != nullptr) {
    Refuse(path, node.mark,
           "expected " + std::string(rule.expected) + ", found " + Quoted(node.text) + ": " +
               rule.wrong(node.text));
  } else {
    Expected(path, std::string(rule.expected), node);
  }
  return nullptr;
}

void FieldReader::Text(const FieldInfo& info, const TextRule& rule, std::string* value) {
  const YamlNode* node = TakeOrNeed(info, rule.accepts(*value), std::string(rule.expected));
  if (node == nullptr) return;
  const std::string* text = TextOf(PathOf(info.name), rule, *node);
  if (text != nullptr) *value = rule.canonical == nullptr ? *text : rule.canonical(*text);
}

void FieldReader::TextList(const FieldInfo& info, const TextRule& rule,
                           std::vector<std::string>* values) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  if (node->kind != YamlNode::Kind::kSequence) {
    return Expected(PathOf(info.name), "a list such as [first, second]", *node);
  }
  std::map<std::string_view, std::size_t> seen;
  values->clear();
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const YamlNode& item = node->items[i];
    const std::string path = PathOf(info.name) + "[" + std::to_string(i) + "]";
    const std::string* text = TextOf(path, rule, item);
    if (text == nullptr) continue;
    const auto [first, fresh] = seen.emplace(*text, i);
    if (fresh) {
      values->push_back(*text);
    } else {
      Refuse(path, item.mark,
             "expected each entry once, found " + Quoted(*text) + " again (first as [" +
                 std::to_string(first->second) + "])");
    }
  }
}

void FieldReader::Retired(const FieldInfo& info, std::vector<std::string>* notes) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  Note(PathOf(info.name), node->mark,
       "has no effect any more, leave it out: " + std::string(info.help), notes);
}

void FieldReader::Amount(const FieldInfo& info, const AmountRule& rule, int64_t* value) {
  const YamlNode* node = Take(info);
  if (node == nullptr) return;
  const std::optional<int64_t> read = node->scalar() ? rule.parse(node->text) : std::nullopt;
  if (!read) return Expected(PathOf(info.name), std::string(rule.expected), *node);
  *value = *read;
}

void FieldReader::OtherNames(const std::vector<OtherName>& names, std::vector<std::string>* notes) {
  scopes_.back().other_names = names;
  scopes_.back().notes = notes;
}

void FieldReader::OtherSection(const FieldInfo& info, const std::function<void()>& fields,
                               std::vector<std::string>* notes) {
  const YamlNode* section = scopes_.back().node;
  const YamlNode* node = section == nullptr ? nullptr : section->Find(info.name);
  if (node == nullptr) return;
  Note(PathOf(info.name), node->mark, std::string(info.help), notes);
  Section({info.name, ""}, fields);
}

void FieldReader::OtherAmount(const FieldInfo& info, const AmountRule& rule, int64_t* value,
                              std::vector<std::string>* notes) {
  const YamlNode* section = scopes_.back().node;
  const YamlNode* node = section == nullptr ? nullptr : section->Find(info.name);
  if (node == nullptr) return;
  Note(PathOf(info.name), node->mark, std::string(info.help), notes);
  Amount({info.name, ""}, rule, value);
}

void FieldReader::Remark(const FieldInfo& info, std::vector<std::string>* notes) {
  const auto mark = marks_.find(PathOf(info.name));
  if (mark != marks_.end()) Note(PathOf(info.name), mark->second, std::string(info.help), notes);
}

void FieldReader::Note(const std::string& path, Mark mark, const std::string& text,
                       std::vector<std::string>* notes) const {
  notes->push_back(At(file_name_, mark) + ": " + path + ": " + text);
}

void FieldReader::Choice(const FieldInfo& info, const Words& words, std::size_t* chosen) {
  const YamlNode* node = TakeOrNeed(info, *chosen < words.size(), Listed(words, " or "));
  if (node == nullptr) return;
  std::string_view word = node->text;
  const Scope& scope = scopes_.back();
  if (const std::string_view answer = AnswerTo(word); !answer.empty())
    return Refuse(PathOf(info.name), node->mark, std::string(answer));
  for (const OtherName& other : scope.other_names) {
    const bool ours = std::find(words.begin(), words.end(), other.ours) != words.end();
    if (word != other.theirs || !ours) continue;
    Note(PathOf(info.name), node->mark,
         std::string(word) + " is " + std::string(other.ours) + " here", scope.notes);
    word = other.ours;
  }
  const auto found = node->scalar() ? std::find(words.begin(), words.end(), word) : words.end();
  if (found == words.end()) return Expected(PathOf(info.name), Listed(words, " or "), *node);
  *chosen = static_cast<std::size_t>(found - words.begin());
}

const YamlNode* FieldReader::Take(const FieldInfo& info) {
  Scope& scope = scopes_.back();
  const YamlNode* node = std::exchange(scope.element, nullptr);
  if (node == nullptr) {
    scope.known.emplace_back(info.name);
    if (scope.node != nullptr) node = TakeOther(info, scope.node->Find(info.name));
  }
  if (node != nullptr) marks_[PathOf(info.name)] = node->mark;
  return node;
}

const YamlNode* FieldReader::TakeOther(const FieldInfo& info, const YamlNode* node) {
  Scope& scope = scopes_.back();
  for (const OtherName& other : scope.other_names) {
    const YamlNode* found = other.ours == info.name ? scope.node->Find(other.theirs) : nullptr;
    if (found == nullptr) continue;
    scope.known.emplace_back(other.theirs);
    if (node != nullptr) {
      Refuse(PathOf(other.theirs), found->mark,
             "expected one name of " + std::string(info.name) + ", found two");
      continue;
    }
    Note(PathOf(other.theirs), found->mark, "is " + std::string(info.name) + " here", scope.notes);
    node = found;
  }
  return node;
}

const YamlNode* FieldReader::TakeOrNeed(const FieldInfo& info, bool allowed,
                                        const std::string& expected) {
  const YamlNode* node = Take(info);
  const YamlNode* section = scopes_.back().node;
  if (node == nullptr && section != nullptr && !allowed) {
    Refuse(PathOf(info.name), section->mark, "expected " + expected + ", found nothing");
  }
  return node;
}

std::string FieldReader::PathOf(std::string_view name) const {
  const Scope& scope = scopes_.back();
  const bool item = scope.node != nullptr && scope.node->kind == YamlNode::Kind::kSequence;
  return scope.prefix + (item ? std::string(name) : ShownKey(name));
}

bool FieldReader::Knows(const std::string& key) const {
  const std::vector<std::string>& known = scopes_.back().known;
  return std::find(known.begin(), known.end(), key) != known.end();
}

void FieldReader::RefuseOddKeys(const std::vector<YamlEntry>& entries) {
  for (const YamlEntry& entry : entries) {
    if (entry.first_line > 0) {
      Refuse(PathOf(entry.key), entry.mark,
             "expected each key once, found it again (first on line " +
                 std::to_string(entry.first_line) + ")");
    } else if (!scopes_.back().open && !Knows(entry.key) && Admits(entry.mark)) {
      Refuse(PathOf(entry.key), entry.mark, "unknown field, " + Advice(entry.key));
    }
  }
}

std::string_view FieldReader::AnswerTo(std::string_view word) const {
  for (const OtherName& other : scopes_.back().other_names) {
    if (word == other.theirs && !other.answer.empty()) return other.answer;
  }
  return {};
}

// A word like it here, or the same word elsewhere, or all words that are known here.
std::string FieldReader::Advice(const std::string& key) const {
  const Scope& scope = scopes_.back();
  if (const std::string_view answer = AnswerTo(key); !answer.empty()) return std::string(answer);
  if (const auto near = NearestWord(key, scope.known)) return "did you mean " + *near + "?";
  for (const std::string& path : ListFields(fields_)) {
    if (path == key) return "it belongs at the top of the file";
    if (path.substr(path.rfind('.') + 1) == key) return "did you mean " + path + "?";
  }
  return "expected " + Listed(scope.known, " or ");
}

void FieldReader::Refuse(const std::vector<Contradiction>& contradictions,
                         std::vector<std::string>* notes) {
  for (const Contradiction& contradiction : contradictions) {
    // The field itself may be missing: its section, then, or the top of the file.
    std::string path = contradiction.field;
    while (!path.empty() && marks_.find(path) == marks_.end()) {
      const std::size_t last = path.find_last_of(".[");
      path.erase(last == std::string::npos ? 0 : last);
    }
    const Mark mark = path.empty() ? Mark{} : marks_.at(path);
    if (contradiction.doubt) {
      Note(contradiction.field, mark, contradiction.message, notes);
    } else {
      Refuse(contradiction.field, mark, contradiction.message);
    }
  }
}

void FieldReader::Expected(const std::string& path, const std::string& expected,
                           const YamlNode& found) {
  Refuse(path, found.mark, "expected " + expected + ", found " + Describe(found));
}

bool FieldReader::Admits(Mark mark) {
  if (faults_.size() < kMostFaults || mark < faults_.rbegin()->first) return true;
  ++more_;
  return false;
}

void FieldReader::Refuse(const std::string& path, Mark mark, const std::string& message) {
  if (!Admits(mark)) return;
  const std::string text = path.empty() ? message : path + ": " + message;
  faults_.emplace(mark, Error{Code::kInvalidArgument, text, At(file_name_, mark)});
  if (faults_.size() <= kMostFaults) return;
  faults_.erase(std::prev(faults_.end()));
  ++more_;
}

std::vector<Error> FieldReader::Faults() const {
  std::vector<Error> faults;
  for (const auto& [mark, fault] : faults_) faults.push_back(fault);
  if (more_ > 0) {
    faults.push_back({Code::kExhausted, std::to_string(more_) + " more faults", file_name_});
  }
  return faults;
}

}  // namespace muster::config
