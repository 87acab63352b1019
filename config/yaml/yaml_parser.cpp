#include "config/yaml/yaml_parser.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "config/yaml/yaml_lines.hpp"
#include "config/yaml/yaml_scalar.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr const char* kNoTags = "expected a value, found a tag ('!'): tags are not supported";

// Leaves yaml-cpp's parser from inside one of its callbacks; caught in ParseChunk.
struct Refusal {
  Error error;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const Lines& lines, const YamlRules& rules, int64_t* nodes_left)
      : lines_(lines), rules_(rules), nodes_left_(*nodes_left) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) Refuse(mark, "expected the end of the document, found more text");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckEmptyValue(mark, anchor);
    Leaf(mark, {}, YamlNode::Kind::kNull, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(mark, tag, anchor, style, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(mark, tag, anchor, style, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override;

  bool has_root() const { return documents_ > 0 && open_.empty(); }
  YamlNode TakeRoot() { return std::move(root_); }

 private:
  struct Anchored {
    YamlNode node;
    int64_t nodes = 1;
    int height = 0;  // of maps and sequences in each other
  };
  // A map or sequence that has begun and not ended.
  struct OpenNode {
    Anchored content;
    YAML::anchor_t anchor = YAML::NullAnchor;
    bool flow = false;
    bool expects_value = false;                     // of a map: the key is the last entry
    std::unordered_map<std::string, int64_t> keys;  // with the line of the first
  };

  [[noreturn]] void Refuse(const YAML::Mark& mark, std::string message,
                           Code code = Code::kInvalidArgument) const {
    throw Refusal{lines_.Refused(mark, std::move(message), code)};
  }
  bool InFlow() const { return !open_.empty() && open_.back().flow; }
  bool ExpectsKey() const {
    return !open_.empty() && open_.back().content.node.kind == YamlNode::Kind::kMap &&
           !open_.back().expects_value;
  }
  void CheckAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) const;
  void CheckStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const;
  std::size_t EndOfQuotes(const YAML::Mark& mark) const;
  void CheckText(const YAML::Mark& mark, const std::string& value) const;
  void CheckColon(const YAML::Mark& mark, const std::string& key) const;
  void CheckEmptyValue(const YAML::Mark& mark, YAML::anchor_t anchor) const;
  void Spend(const YAML::Mark& mark, int64_t nodes);
  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style, YamlNode::Kind kind);
  void Close();
  void Leaf(const YAML::Mark& mark, std::string text, YamlNode::Kind kind, YAML::anchor_t anchor);
  void Key(const YAML::Mark& mark, std::string text, YamlNode::Kind kind);
  std::string TypedKey(const YAML::Mark& mark, std::string text) const;
  // Gives a finished value to the map or sequence around it.
  void Attach(Anchored finished, YAML::anchor_t anchor);

  const Lines& lines_;
  const YamlRules& rules_;
  int64_t& nodes_left_;
  int documents_ = 0;
  std::vector<OpenNode> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  YamlNode root_;
};

void TreeBuilder::CheckAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
  if (anchor != YAML::NullAnchor && !rules_.aliases) {
    Refuse(mark, "expected a value, found an anchor ('&'): anchors and aliases are not supported");
  }
}

// Other parsers end a name where the letters end, so "&a:b" would mean different things.
void TreeBuilder::OnAnchor(const YAML::Mark& mark, const std::string& name) {
  const auto usual = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  if (!std::all_of(name.begin(), name.end(), usual)) {
    Refuse(mark,
           "expected letters, digits, '-' and '_' in the name of an anchor, found " + Quoted(name));
  }
}

void TreeBuilder::CheckStart(const YAML::Mark& mark, const std::string& tag,
                             YAML::anchor_t anchor) const {
  CheckAnchor(mark, anchor);
  const bool named = !tag.empty() && tag != "?" && tag != "!";
  if (named || lines_.CharacterAt(mark) == '!') Refuse(mark, kNoTags);
  const std::string_view before = lines_.Before(mark);
  if (!InFlow() && before.find('\t') != std::string_view::npos &&
      before.find_first_not_of(" \t") == std::string_view::npos) {
    Refuse(mark, "expected spaces before this, found a tab: YAML is indented with spaces only");
  }
}

// The offset after the scalar in quotes at `mark`. Refuses quotes that do not end: yaml-cpp takes
// the end of the text for their end.
std::size_t TreeBuilder::EndOfQuotes(const YAML::Mark& mark) const {
  const std::string_view text = lines_.text();
  const char quote = lines_.CharacterAt(mark);
  for (std::size_t at = lines_.Offset(mark) + 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 >= text.size() || text[at + 1] != quote) return at + 1;
      ++at;
    }
  }
  Refuse(mark, std::string("expected a closing ") + quote + ", found the end of the document");
}

void TreeBuilder::CheckText(const YAML::Mark& mark, const std::string& value) const {
  const char first = lines_.CharacterAt(mark);
  if (first != '"' && first != '\'') return;
  EndOfQuotes(mark);
  // The file is UTF-8, so this came from an escape: yaml-cpp writes these two as single bytes.
  if (!IsUtf8(value)) Refuse(mark, "expected text without the escapes \\N and \\_, found one");
}

void TreeBuilder::CheckColon(const YAML::Mark& mark, const std::string& key) const {
  const std::string_view before = lines_.Before(mark);
  const std::size_t blank = before.find_last_not_of(" \t");
  if (blank != std::string_view::npos && before[blank] == '?') return;  // "? key"
  const char first = lines_.CharacterAt(mark);
  const bool quoted = first == '"' || first == '\'';
  std::size_t end = quoted ? EndOfQuotes(mark) : lines_.Offset(mark) + key.size();
  end = std::min(lines_.text().find_first_not_of(" \t", end), lines_.text().size());
  const std::string_view rest = lines_.text().substr(end, 2);
  if (!InFlow()) {
    // yaml-cpp takes a last line without a colon for a key.
    if (rest.substr(0, 1) != ":") Refuse(mark, "expected ':' after " + Quoted(key));
  } else if (!quoted && (rest == ":," || rest == ":]" || rest == ":}")) {
    // The key for some readers, and for others, kubectl among them, the colon is part of the text.
    Refuse(mark, "expected a space after the ':' of " + Quoted(key));
  }
}

// yaml-cpp reads "[1,,2]" and "{,a: 1}" with nulls.
void TreeBuilder::CheckEmptyValue(const YAML::Mark& mark, YAML::anchor_t anchor) const {
  CheckAnchor(mark, anchor);
  if (anchor != YAML::NullAnchor) Refuse(mark, "expected a value after the anchor ('&')");
  if (lines_.CharacterAt(mark) == '!') Refuse(mark, kNoTags);
  if (open_.empty()) return;
  const OpenNode& around = open_.back();
  const bool map = around.content.node.kind == YamlNode::Kind::kMap;
  const bool written =
      std::string_view("~nN&!").find(lines_.CharacterAt(mark)) != std::string_view::npos;
  if (around.flow && !around.expects_value && !written) {
    Refuse(mark, map ? "expected a key before this" : "expected an item before this");
  }
}

void TreeBuilder::Spend(const YAML::Mark& mark, int64_t nodes) {
  nodes_left_ -= nodes;
  if (nodes_left_ < 0) {
    Refuse(mark, "expected at most " + std::to_string(rules_.max_nodes) + " values, found more",
           Code::kExhausted);
  }
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& value) {
  CheckStart(mark, tag, anchor);
  const bool plain = tag == "?";
  if (!plain) CheckText(mark, value);
  Leaf(mark, value, plain ? YamlNode::Kind::kPlain : YamlNode::Kind::kText, anchor);
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (!rules_.aliases) {
    Refuse(mark, "expected a value, found an alias ('*'): anchors and aliases are not supported");
  }
  if (ExpectsKey()) Refuse(mark, "expected a key, found an alias ('*')");
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) Refuse(mark, "expected no alias inside the value that it names");
  const Anchored& target = found->second;
  if (static_cast<int>(open_.size()) + target.height > rules_.max_depth) {
    Refuse(mark, "expected at most " + std::to_string(rules_.max_depth) + " levels, found more",
           Code::kExhausted);
  }
  Spend(mark, target.nodes);
  Attach(target, YAML::NullAnchor);
}

void TreeBuilder::Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style, YamlNode::Kind kind) {
  CheckStart(mark, tag, anchor);
  if (ExpectsKey()) {
    Refuse(mark, "expected a key, found a map or a sequence (is a bracket not closed?)");
  }
  if (static_cast<int>(open_.size()) >= rules_.max_depth) {
    Refuse(mark, "expected at most " + std::to_string(rules_.max_depth) + " levels, found more",
           Code::kExhausted);
  }
  Spend(mark, 1);
  OpenNode node;
  node.content.node.kind = kind;
  node.content.node.mark = lines_.ToMark(mark);
  node.anchor = anchor;
  node.flow = style == YAML::EmitterStyle::Flow;
  open_.push_back(std::move(node));
}

void TreeBuilder::Close() {
  OpenNode closed = std::move(open_.back());
  open_.pop_back();
  closed.content.height += 1;
  Attach(std::move(closed.content), closed.anchor);
}

void TreeBuilder::Leaf(const YAML::Mark& mark, std::string text, YamlNode::Kind kind,
                       YAML::anchor_t anchor) {
  Spend(mark, 1);
  if (ExpectsKey()) {
    if (anchor != YAML::NullAnchor) Refuse(mark, "expected a key, found an anchor ('&')");
    return Key(mark, std::move(text), kind);
  }
  Anchored leaf;
  leaf.node.kind = kind;
  leaf.node.mark = lines_.ToMark(mark);
  leaf.node.text = std::move(text);
  Attach(std::move(leaf), anchor);
}

void TreeBuilder::Key(const YAML::Mark& mark, std::string text, YamlNode::Kind kind) {
  OpenNode& map = open_.back();
  if (kind == YamlNode::Kind::kNull) Refuse(mark, "expected a key, found nothing");
  if (kind == YamlNode::Kind::kPlain && text == "<<") {
    Refuse(mark, "expected a key, found '<<': merge keys are not supported");
  }
  CheckColon(mark, text);
  if (kind == YamlNode::Kind::kPlain && rules_.typed_keys) text = TypedKey(mark, std::move(text));
  const Mark place = lines_.ToMark(mark);
  const auto [first, fresh] = map.keys.emplace(text, place.line);
  if (!fresh && !rules_.repeated_keys) {
    Refuse(mark, "expected each key once, found " + Quoted(text) + " again (first on line " +
                     std::to_string(first->second) + ")");
  }
  map.content.node.entries.push_back({std::move(text), place, {}, fresh ? 0 : first->second});
  map.expects_value = true;
}

std::string TreeBuilder::TypedKey(const YAML::Mark& mark, std::string text) const {
  Scalar scalar = ResolvePlain(text);
  if (scalar.type == ScalarType::kText) return text;
  // The largest unsigned numbers are no keys for kubectl either.
  const bool large = scalar.json.size() >= 19 && scalar.json[0] != '-' &&
                     (scalar.json.size() > 19 || scalar.json > "9223372036854775807");
  if (scalar.type == ScalarType::kBoolean || (scalar.type == ScalarType::kInteger && !large)) {
    return std::move(scalar.json);
  }
  Refuse(mark, "expected a key in quotes, found the number " + text);
}

void TreeBuilder::Attach(Anchored finished, YAML::anchor_t anchor) {
  if (anchor != YAML::NullAnchor) {
    Spend(YAML::Mark(), finished.nodes);  // the copy kept for aliases
    anchors_[anchor] = finished;
  }
  if (open_.empty()) {
    root_ = std::move(finished.node);
    return;
  }
  OpenNode& around = open_.back();
  around.content.nodes += finished.nodes;
  around.content.height = std::max(around.content.height, finished.height);
  if (around.content.node.kind == YamlNode::Kind::kSequence) {
    around.content.node.items.push_back(std::move(finished.node));
  } else {
    YamlEntry& entry = around.content.node.entries.back();
    // The mark of nothing is that of what comes next, which may be anywhere.
    const bool elsewhere = finished.node.mark.line != entry.mark.line;
    if (finished.node.kind == YamlNode::Kind::kNull && elsewhere) finished.node.mark = entry.mark;
    entry.value = std::move(finished.node);
    around.expects_value = false;
  }
}

struct Wording {
  std::string_view theirs;  // begins so
  std::string_view ours;
};

// What yaml-cpp says, in the words of somebody who edits a file.
constexpr std::array<Wording, 11> kWordings = {{
    {"illegal map value",
     "expected no ': ' here (is the line indented too far, or are quotes missing?)"},
    {"illegal block entry", "expected a value, found '-': begin the list on the next line"},
    {"illegal map key", "expected a value, found '?'"},
    {"illegal flow end", "expected no ']' or '}' here: none is open"},
    {"end of map not found", "expected \"key: value\", indented as the lines above"},
    {"end of sequence not found", "expected \"- item\", indented as the lines above"},
    {"end of map flow not found", "expected ',' or '}'"},
    {"end of sequence flow not found", "expected ',' or ']'"},
    {"unknown escape character", "expected an escape that YAML knows after '\\'"},
    {"the referenced anchor is not defined",
     "expected an anchor ('&') of this name before the alias"},
    {"unknown token", "expected a value, found a character that cannot begin one without quotes"},
}};

Error FromLibrary(const Lines& lines, const YAML::ParserException& exception) {
  for (const Wording& wording : kWordings) {
    if (exception.msg.compare(0, wording.theirs.size(), wording.theirs) == 0) {
      return lines.Refused(exception.mark, std::string(wording.ours));
    }
  }
  return lines.Refused(exception.mark, "expected valid YAML: " + exception.msg);
}

// Nothing when the chunk has only comments and white space.
Result<std::vector<YamlNode>> ParseChunk(const Lines& lines, const YamlRules& rules,
                                         int64_t* nodes_left) {
  TreeBuilder builder(lines, rules, nodes_left);
  try {
    std::istringstream input{std::string(lines.text())};
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    return refusal.error;
  } catch (const YAML::ParserException& exception) {
    return FromLibrary(lines, exception);
  } catch (const YAML::Exception& exception) {
    return Error{Code::kInternal, exception.msg, ""};
  }
  std::vector<YamlNode> documents;
  if (!builder.has_root()) {
    // Only comments, or a tag or an anchor of nothing, which yaml-cpp drops.
    if (const auto mark = lines.FirstText()) return lines.Refused(*mark, "expected a value");
    return documents;
  }
  documents.push_back(builder.TakeRoot());
  if (documents.back().kind == YamlNode::Kind::kNull) documents.clear();
  return documents;
}

}  // namespace

Result<std::vector<YamlNode>> ParseYaml(std::string_view text, const std::string& file_name,
                                        const YamlRules& rules) {
  const Result<std::string> clean = CleanText(text, file_name, rules.max_bytes);
  if (!clean.ok()) return clean.error();
  std::vector<YamlNode> documents;
  int64_t nodes_left = rules.max_nodes;
  for (const Chunk& chunk : SplitDocuments(*clean)) {
    Result<std::vector<YamlNode>> parsed = ParseChunk(Lines(chunk, file_name), rules, &nodes_left);
    if (!parsed.ok()) return parsed.error();
    for (YamlNode& document : *parsed) documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace muster::config
