#include "topology/vendors/amd_json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "topology/links/machine.hpp"

namespace muster::topology {

using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

// Of one object or list. The older form has one for each GPU.
constexpr size_t kMostItems = 2 * kMostGpus;
constexpr size_t kMostDepth = 8;

struct JsonTable {
  std::string_view title;  // as amd-smi's tables have it
  std::string_view key;    // in an element of "links"
  std::string_view older;  // of the object by GPU
};

constexpr std::array<JsonTable, 5> kJsonTables = {
    {{"ACCESS TABLE:", "link_status", "link_accessibility"},
     {"WEIGHT TABLE:", "weight", "weight"},
     {"HOPS TABLE:", "num_hops", "hops"},
     {"LINK TYPE TABLE:", "link_type", "link_type"},
     {"NUMA BW TABLE:", "bandwidth", "numa_bandwidth"}}};

// Quotation marks are blanks by now. A text is a key if a colon follows it.
struct JsonToken {
  char mark = 0;     // one of {}[]:, and 0 for a text
  std::string text;  // a number, a word or a part of a text
  Place place;
};

std::vector<JsonToken> CutTokens(const std::vector<ToolLine>& lines) {
  constexpr std::string_view kMarks = "{}[],";
  std::vector<JsonToken> tokens;
  for (const ToolLine& line : lines) {
    for (const ToolWord& word : line.words) {
      std::string_view rest = word.text;
      while (!rest.empty()) {
        const Place place = {word.place.line, word.place.column + word.text.size() - rest.size()};
        // Within a text a colon is a part of it, as in an address.
        const bool mark = rest.front() == ':' || kMarks.find(rest.front()) != std::string::npos;
        const size_t size = mark ? 1 : std::min(rest.find_first_of(kMarks), rest.size());
        tokens.push_back({mark ? rest.front() : '\0',
                          mark ? std::string() : std::string(rest.substr(0, size)), place});
        rest.remove_prefix(size);
      }
    }
  }
  return tokens;
}

bool Is(const std::vector<JsonToken>& tokens, size_t at, char mark) {
  return at < tokens.size() && tokens[at].mark == mark;
}

bool IsKey(const std::vector<JsonToken>& tokens, size_t at) {
  return Is(tokens, at, '\0') && Is(tokens, at + 1, ':');
}

// A list of objects, or an object. Prompts begin with brackets, too.
std::optional<size_t> FindRoot(const std::vector<JsonToken>& tokens, size_t from) {
  for (size_t at = from; at < tokens.size(); ++at) {
    if (Is(tokens, at, '[') && Is(tokens, at + 1, '{')) return at;
    if (Is(tokens, at, '{') && IsKey(tokens, at + 1)) return at;
  }
  return std::nullopt;
}

struct JsonValue {
  char kind = 0;     // '{', '[' or 0 for a text
  std::string text;  // its words with one blank between
  Place place;
  std::vector<JsonValue> items;
  std::vector<std::string> keys;  // of an object: one for each item

  const JsonValue* Find(std::string_view key) const {
    const auto found = std::find(keys.begin(), keys.end(), key);
    return found == keys.end() ? nullptr : &items[static_cast<size_t>(found - keys.begin())];
  }
};

class JsonReader {
 public:
  JsonReader(std::vector<JsonToken> tokens, const std::string& source)
      : tokens_(std::move(tokens)), source_(source) {}

  Result<JsonValue> Read() {
    const std::optional<size_t> root = FindRoot(tokens_, 0);
    if (!root) return Refuse("expected a list of GPUs");
    at_ = *root;
    Result<JsonValue> value = ReadValue(0);
    if (!value.ok()) return value;
    if (const std::optional<size_t> other = FindRoot(tokens_, at_)) {
      at_ = *other;
      return Refuse("more JSON begins here: give one machine's alone");
    }
    return value;
  }

 private:
  Error Refuse(const std::string& message) const {
    if (tokens_.empty()) return Refusal(source_, {}, message);
    const bool end = at_ >= tokens_.size();
    return Refusal(source_, tokens_[end ? tokens_.size() - 1 : at_].place,
                   message + (end ? ", found the end: the text is cut" : ""));
  }

  // Nesting is bounded.
  Result<JsonValue> ReadValue(size_t depth) {
    if (at_ >= tokens_.size() || depth > kMostDepth) return Refuse("expected less nested JSON");
    JsonValue value{tokens_[at_].mark, "", tokens_[at_].place, {}, {}};
    if (value.kind == '{' || value.kind == '[') {
      ++at_;
      const Status items = ReadItems(depth, value);
      if (!items.ok()) return items.error();
      return value;
    }
    while (Is(tokens_, at_, '\0') && !IsKey(tokens_, at_)) {
      value.text += (value.text.empty() ? "" : " ") + tokens_[at_++].text;
      // "64,32": a comma within a text.
      if (Is(tokens_, at_, ',') && Is(tokens_, at_ + 1, '\0') && !IsKey(tokens_, at_ + 1)) {
        value.text += ",";
        ++at_;
      }
    }
    if (value.text.empty()) return Refuse("expected a value");
    return value;
  }

  Status ReadItems(size_t depth, JsonValue& value) {
    const char end = value.kind == '{' ? '}' : ']';
    while (!Is(tokens_, at_, end)) {
      if (Is(tokens_, at_, ',')) {
        ++at_;
        continue;
      }
      if (value.kind == '{') {
        if (!IsKey(tokens_, at_)) return Refuse("expected a key or }");
        const std::string& key = tokens_[at_].text;
        if (value.Find(key) != nullptr) return Refuse("key " + Shown(key) + " is there twice");
        value.keys.push_back(key);
        at_ += 2;
      }
      if (value.items.size() == kMostItems)
        return Refuse("more than " + std::to_string(kMostItems) + " values: not of amd-smi");
      if (at_ >= tokens_.size()) return Refuse("expected a value");
      Result<JsonValue> item = ReadValue(depth + 1);
      if (!item.ok()) return item.error();
      value.items.push_back(std::move(*item));
    }
    ++at_;
    return cluster::Ok{};
  }

  const std::vector<JsonToken> tokens_;
  const std::string& source_;
  size_t at_ = 0;
};

struct JsonGpu {
  std::string number;
  const JsonValue* value;
};

// What `from` says of its link to `to`; null: nothing.
const JsonValue* CellOf(const JsonGpu& from, const JsonGpu& to, const JsonTable& table) {
  if (const JsonValue* links = from.value->Find("links")) {
    for (const JsonValue& link : links->items) {
      const JsonValue* gpu = link.Find("gpu");
      if (gpu != nullptr && gpu->text == to.number) return link.Find(table.key);
    }
    return nullptr;
  }
  const JsonValue* cells = from.value->Find(table.older);
  return cells == nullptr ? nullptr : cells->Find("gpu_" + to.number);
}

Result<std::vector<JsonGpu>> GpusOf(const JsonValue& root, const std::string& source) {
  const JsonValue* list = &root;
  if (root.kind == '{' && root.items.size() == 1) list = &root.items.front();
  if (list->kind != '[') return Refusal(source, list->place, "expected a list of GPUs");
  std::vector<JsonGpu> gpus;
  for (const JsonValue& item : list->items) {
    const JsonValue* number = item.Find("gpu");
    if (number == nullptr || !IsAcceleratorName("GPU" + number->text))
      return Refusal(source, number == nullptr ? item.place : number->place,
                     "expected the number of a GPU as \"gpu\"");
    gpus.push_back({number->text, &item});
  }
  return gpus;
}

// The lines of one table; none where no GPU has such cells.
Result<std::vector<ToolLine>> TableOf(const std::vector<JsonGpu>& gpus, const JsonTable& table,
                                      const std::string& source) {
  const Place begin = gpus.front().value->place;
  const auto line_of = [](std::string first, Place place) {
    return ToolLine{place.line, {{std::move(first), place}}};
  };
  std::vector<ToolLine> lines = {line_of(std::string(table.title), begin), {begin.line, {}}};
  const JsonGpu* lacking = nullptr;
  const JsonGpu* lacks = nullptr;
  bool any = false;
  for (const JsonGpu& from : gpus) {
    const Place place = from.value->place;
    lines[1].words.push_back({"GPU" + from.number, place});
    ToolLine row = line_of("GPU" + from.number, place);
    for (const JsonGpu& to : gpus) {
      if (const JsonValue* cell = CellOf(from, to, table)) {
        row.words.push_back({cell->text, cell->place});
        any = true;
      } else if (lacking == nullptr) {
        lacking = &from;
        lacks = &to;
      }
    }
    lines.push_back(std::move(row));
  }
  if (!any) return std::vector<ToolLine>();
  if (lacking != nullptr) {
    return Refusal(source, lacking->value->place,
                   "GPU" + lacking->number + " has no " + std::string(table.key) + " to GPU" +
                       lacks->number + ": the text is not the whole output");
  }
  return lines;
}

}  // namespace

bool IsAmdJson(const std::vector<ToolLine>& lines) {
  const std::vector<JsonToken> tokens = CutTokens(lines);
  const std::optional<size_t> root = FindRoot(tokens, 0);
  if (!root) return false;
  for (size_t at = *root; at < tokens.size(); ++at) {
    if (IsKey(tokens, at) && tokens[at].text == "gpu") return true;
  }
  return false;
}

Result<std::vector<ToolLine>> TablesOfAmdJson(const std::vector<ToolLine>& lines,
                                              const std::string& source) {
  const Result<JsonValue> root = JsonReader(CutTokens(lines), source).Read();
  if (!root.ok()) return root.error();
  const Result<std::vector<JsonGpu>> gpus = GpusOf(*root, source);
  if (!gpus.ok()) return gpus.error();
  std::vector<ToolLine> tables;
  bool types = false;
  for (const JsonTable& table : kJsonTables) {
    if (gpus->empty()) break;
    Result<std::vector<ToolLine>> found = TableOf(*gpus, table, source);
    if (!found.ok()) return found.error();
    types = types || (table.key == "link_type" && !found->empty());
    tables.insert(tables.end(), found->begin(), found->end());
  }
  if (!types) {
    return Refusal(source, root->place,
                   "no link_type of GPUs: give the whole output of `amd-smi topology --json`");
  }
  return tables;
}

}  // namespace muster::topology
