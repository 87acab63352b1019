#include "config/yaml_parser.hpp"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "config/yaml_scalar.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

// One event of libyaml. Owner: the loop that reads them.
struct Event {
  Event() = default;
  ~Event() { yaml_event_delete(&raw); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  yaml_event_t raw{};
};

// What a node may carry before its value; null when it does not.
struct Properties {
  const yaml_char_t* tag;
  const yaml_char_t* anchor;
};

std::string Text(const yaml_char_t* text, std::size_t length) { return {text, text + length}; }
std::string Text(const yaml_char_t* text) {
  return text == nullptr ? std::string() : std::string(text, std::find(text, text + 1024, '\0'));
}

// libyaml counts from 0, columns in characters.
Mark MarkOf(const yaml_mark_t& mark) {
  return {static_cast<int64_t>(mark.line) + 1, static_cast<int64_t>(mark.column) + 1};
}

class TreeBuilder {
 public:
  TreeBuilder(const std::string& file_name, const YamlRules& rules)
      : file_name_(file_name), rules_(rules), nodes_left_(rules.max_nodes) {}

  // False when the event is refused: see error().
  bool Take(const yaml_event_t& event);
  const Error& error() const { return error_; }
  std::vector<YamlNode> TakeDocuments() { return std::move(documents_); }

 private:
  struct Anchored {
    YamlNode node;
    int64_t nodes = 1;
    int height = 0;  // of maps and sequences in each other
  };
  // A map or sequence that has begun and not ended.
  struct OpenNode {
    Anchored content;
    std::string anchor;
    bool expects_value = false;                     // of a map: the key is the last entry
    std::unordered_map<std::string, int64_t> keys;  // with the line of the first
  };

  bool Refuse(Mark mark, std::string message, Code code = Code::kInvalidArgument) {
    error_ = Error{code, std::move(message), At(file_name_, mark)};
    return false;
  }
  bool ExpectsKey() const {
    return !open_.empty() && open_.back().content.node.kind == YamlNode::Kind::kMap &&
           !open_.back().expects_value;
  }
  bool Allows(Mark mark, const Properties& properties);
  bool Spend(Mark mark, int64_t nodes);
  bool FitsDepth(Mark mark, int height);
  bool Scalar(Mark mark, const yaml_event_t& event);
  bool Alias(Mark mark, const std::string& name);
  bool Open(Mark mark, const Properties& properties, YamlNode::Kind kind);
  bool Close(Mark mark);
  bool Key(Mark mark, std::string text, YamlNode::Kind kind);
  bool TypeKey(Mark mark, std::string* text);
  // Gives a finished value to the map or sequence around it, or to the documents.
  bool Attach(Mark mark, Anchored finished, const std::string& anchor);

  const std::string& file_name_;
  const YamlRules& rules_;
  int64_t nodes_left_;
  std::vector<OpenNode> open_;
  std::map<std::string, Anchored> anchors_;  // of the document
  std::vector<YamlNode> documents_;
  Error error_;
};

bool TreeBuilder::Take(const yaml_event_t& event) {
  const Mark mark = MarkOf(event.start_mark);
  switch (event.type) {
    case YAML_DOCUMENT_START_EVENT:
      anchors_.clear();
      return true;
    case YAML_SCALAR_EVENT:
      return Scalar(mark, event);
    case YAML_ALIAS_EVENT:
      return Alias(mark, Text(event.data.alias.anchor));
    case YAML_SEQUENCE_START_EVENT:
      return Open(mark, {event.data.sequence_start.tag, event.data.sequence_start.anchor},
                  YamlNode::Kind::kSequence);
    case YAML_MAPPING_START_EVENT:
      return Open(mark, {event.data.mapping_start.tag, event.data.mapping_start.anchor},
                  YamlNode::Kind::kMap);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return Close(mark);
    default:
      return true;
  }
}

bool TreeBuilder::Allows(Mark mark, const Properties& properties) {
  if (properties.tag != nullptr) {
    return Refuse(mark, "expected a value, found a tag ('!'): tags are not supported");
  }
  if (properties.anchor != nullptr && !rules_.aliases) {
    return Refuse(mark,
                  "expected a value, found an anchor ('&'): anchors and aliases are not supported");
  }
  return true;
}

bool TreeBuilder::Spend(Mark mark, int64_t nodes) {
  nodes_left_ -= nodes;
  if (nodes_left_ >= 0) return true;
  return Refuse(mark,
                "expected at most " + std::to_string(rules_.max_nodes) + " values, found more",
                Code::kExhausted);
}

bool TreeBuilder::FitsDepth(Mark mark, int height) {
  if (static_cast<int>(open_.size()) + height <= rules_.max_depth) return true;
  return Refuse(mark,
                "expected at most " + std::to_string(rules_.max_depth) + " levels, found more",
                Code::kExhausted);
}

bool TreeBuilder::Scalar(Mark mark, const yaml_event_t& event) {
  const auto& scalar = event.data.scalar;
  if (!Allows(mark, {scalar.tag, scalar.anchor}) || !Spend(mark, 1)) return false;
  std::string text = Text(scalar.value, scalar.length);
  YamlNode::Kind kind = YamlNode::Kind::kText;
  if (scalar.style == YAML_PLAIN_SCALAR_STYLE) {
    kind = ResolvePlain(text).type == ScalarType::kNull ? YamlNode::Kind::kNull
                                                        : YamlNode::Kind::kPlain;
  }
  if (ExpectsKey()) {
    if (scalar.anchor != nullptr) return Refuse(mark, "expected a key, found an anchor ('&')");
    return Key(mark, std::move(text), kind);
  }
  // Most often the value was meant to be on the next line, indented less than YAML wants it.
  if (scalar.anchor != nullptr && kind == YamlNode::Kind::kNull && text.empty()) {
    return Refuse(mark, "expected a value after the anchor ('&')");
  }
  Anchored leaf;
  leaf.node.kind = kind;
  leaf.node.mark = mark;
  if (kind != YamlNode::Kind::kNull) leaf.node.text = std::move(text);
  return Attach(mark, std::move(leaf), Text(scalar.anchor));
}

bool TreeBuilder::Alias(Mark mark, const std::string& name) {
  if (!rules_.aliases) {
    return Refuse(mark,
                  "expected a value, found an alias ('*'): anchors and aliases are not supported");
  }
  if (ExpectsKey()) return Refuse(mark, "expected a key, found an alias ('*')");
  for (const OpenNode& around : open_) {
    if (around.anchor == name) {
      return Refuse(mark, "expected no alias inside the value that it names");
    }
  }
  const auto found = anchors_.find(name);
  if (found == anchors_.end()) {
    return Refuse(mark, "expected an anchor ('&') of this name before the alias");
  }
  const Anchored& target = found->second;
  if (!FitsDepth(mark, target.height) || !Spend(mark, target.nodes)) return false;
  return Attach(mark, target, "");
}

bool TreeBuilder::Open(Mark mark, const Properties& properties, YamlNode::Kind kind) {
  if (!Allows(mark, properties)) return false;
  if (ExpectsKey()) {
    return Refuse(mark, "expected a key, found a map or a sequence (is a bracket not closed?)");
  }
  if (!FitsDepth(mark, 1) || !Spend(mark, 1)) return false;
  OpenNode node;
  node.content.node.kind = kind;
  node.content.node.mark = mark;
  node.anchor = Text(properties.anchor);
  open_.push_back(std::move(node));
  return true;
}

bool TreeBuilder::Close(Mark mark) {
  OpenNode closed = std::move(open_.back());
  open_.pop_back();
  closed.content.height += 1;
  return Attach(mark, std::move(closed.content), closed.anchor);
}

bool TreeBuilder::Key(Mark mark, std::string text, YamlNode::Kind kind) {
  OpenNode& map = open_.back();
  if (kind == YamlNode::Kind::kNull) return Refuse(mark, "expected a key, found nothing");
  if (kind == YamlNode::Kind::kPlain && text == "<<") {
    return Refuse(mark, "expected a key, found '<<': merge keys are not supported");
  }
  const bool typed = kind == YamlNode::Kind::kPlain && rules_.typed_keys;
  if (typed && !TypeKey(mark, &text)) return false;
  const auto [first, fresh] = map.keys.emplace(text, mark.line);
  if (!fresh && !rules_.repeated_keys) {
    return Refuse(mark, "expected each key once, found " + Quoted(text) + " again (first on line " +
                            std::to_string(first->second) + ")");
  }
  map.content.node.entries.push_back({std::move(text), mark, {}, fresh ? 0 : first->second});
  map.expects_value = true;
  return true;
}

bool TreeBuilder::TypeKey(Mark mark, std::string* text) {
  config::Scalar scalar = ResolvePlain(*text);
  if (scalar.type == ScalarType::kText) return true;
  // The largest unsigned numbers are no keys for kubectl either.
  const bool large = scalar.json.size() >= 19 && scalar.json[0] != '-' &&
                     (scalar.json.size() > 19 || scalar.json > "9223372036854775807");
  if (scalar.type != ScalarType::kBoolean && (scalar.type != ScalarType::kInteger || large)) {
    return Refuse(mark, "expected a key in quotes, found the number " + *text);
  }
  *text = std::move(scalar.json);
  return true;
}

bool TreeBuilder::Attach(Mark mark, Anchored finished, const std::string& anchor) {
  if (!anchor.empty()) {
    if (!Spend(mark, finished.nodes)) return false;  // the copy kept for aliases
    anchors_[anchor] = finished;
  }
  if (open_.empty()) {
    if (finished.node.kind != YamlNode::Kind::kNull) documents_.push_back(std::move(finished.node));
    return true;
  }
  OpenNode& around = open_.back();
  around.content.nodes += finished.nodes;
  around.content.height = std::max(around.content.height, finished.height);
  if (around.content.node.kind == YamlNode::Kind::kSequence) {
    around.content.node.items.push_back(std::move(finished.node));
  } else {
    around.content.node.entries.back().value = std::move(finished.node);
    around.expects_value = false;
  }
  return true;
}

struct Wording {
  std::string_view theirs;
  std::string_view ours;  // '@' stands for what is there
  bool at_begin = false;  // told where that began which went wrong
};

// What libyaml says, in the words of somebody who edits a file.
constexpr std::array<Wording, 16> kWordings = {{
    {"mapping values are not allowed in this context",
     "expected no ': ' here (is the line indented too far, or are quotes missing?)"},
    {"block sequence entries are not allowed in this context",
     "expected a value, found '-': begin the list on the next line"},
    {"mapping keys are not allowed in this context", "expected a value, found '?'"},
    {"did not find expected <document start>", "expected the end of the document, found @"},
    {"did not find expected node content", "expected a value, found @ (are quotes missing?)"},
    {"did not find expected key", "expected \"key: value\", indented as the lines above"},
    {"did not find expected '-' indicator", "expected \"- item\", indented as the lines above"},
    {"did not find expected ',' or '}'", "expected ',' or '}', found @"},
    {"did not find expected ',' or ']'", "expected ',' or ']', found @"},
    {"could not find expected ':'", "expected ':' after @", true},
    {"found unexpected ':'", "expected a space after ':', found @"},
    {"found unexpected end of stream", "expected a closing quote, found the end of the text", true},
    {"found unexpected document indicator",
     "expected a closing quote, found the end of the document", true},
    {"found unknown escape character", "expected an escape that YAML knows after '\\'"},
    {"did not find expected alphabetic or numeric character",
     "expected letters, digits, '-' and '_' in the name of an anchor or alias"},
    {"found character that cannot start any token",
     "expected a value, found a character that cannot begin one without quotes"},
}};

constexpr Wording kTab{"",
                       "expected spaces before this, found a tab: YAML is indented with spaces"};
constexpr Wording kTag{"", "expected a value, found a tag ('!'): tags are not supported", true};

// What is on the line from the mark on.
std::string_view RestAt(std::string_view text, Mark mark) {
  for (; mark.line > 1 && !text.empty(); --mark.line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  text = text.substr(0, text.find('\n'));
  for (; mark.column > 1 && !text.empty(); --mark.column) {
    do text.remove_prefix(1);
    while (!text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0U) == 0x80U);
  }
  return text;
}

Error FromLibrary(const yaml_parser_t& parser, std::string_view text,
                  const std::string& file_name) {
  const std::string_view problem = parser.problem == nullptr ? "out of memory" : parser.problem;
  const std::string_view context = parser.context == nullptr ? "" : parser.context;
  const Wording* wording = std::find_if(kWordings.begin(), kWordings.end(),
                                        [&](const Wording& one) { return one.theirs == problem; });
  const Mark problem_mark = MarkOf(parser.problem_mark);
  if (RestAt(text, problem_mark).substr(0, 1) == "\t") wording = &kTab;
  if (context.find(" tag") != std::string_view::npos) wording = &kTag;
  const bool known = wording != kWordings.end();
  const Mark mark = known && wording->at_begin ? MarkOf(parser.context_mark) : problem_mark;
  std::string message =
      known ? std::string(wording->ours) : "expected valid YAML: " + std::string(problem);
  if (const std::size_t at = message.find('@'); known && at != std::string::npos) {
    const std::string_view found = RestAt(text, mark);
    message.replace(at, 1, found.empty() ? "the end of the line" : Quoted(found));
  }
  return Error{Code::kInvalidArgument, std::move(message), At(file_name, mark)};
}

}  // namespace

Result<std::vector<YamlNode>> ParseYaml(std::string_view text, const std::string& file_name,
                                        const YamlRules& rules) {
  const Result<std::string> clean = CleanText(text, file_name, rules.max_bytes);
  if (!clean.ok()) return clean.error();
  std::vector<unsigned char> bytes(clean->begin(), clean->end());
  bytes.push_back(0);  // so that there is something to point at
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) == 0) return Error{Code::kInternal, "out of memory", ""};
  const std::unique_ptr<yaml_parser_t, decltype(&yaml_parser_delete)> owner(&parser,
                                                                            yaml_parser_delete);
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, bytes.data(), clean->size());
  TreeBuilder builder(file_name, rules);
  while (true) {
    Event event;
    if (yaml_parser_parse(&parser, &event.raw) == 0) return FromLibrary(parser, *clean, file_name);
    if (!builder.Take(event.raw)) return builder.error();
    if (event.raw.type == YAML_STREAM_END_EVENT) return builder.TakeDocuments();
  }
}

}  // namespace muster::config
