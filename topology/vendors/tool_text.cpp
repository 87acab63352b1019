#include "topology/vendors/tool_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace muster::topology {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What stands for one blank in pasted text, and what for nothing. A vertical bar is a table's, and
// quotation marks hold lines or cells that a program printed.
constexpr std::array<std::string_view, 14> kBlanks = {"\xC2\xA0",
                                                      "\xE3\x80\x80",
                                                      "\xE2\x80\xAF",
                                                      "\xE2\x94\x82",
                                                      "\xE2\x94\x83",
                                                      "\xE2\x80\x9C",
                                                      "\xE2\x80\x9D",
                                                      "\xE2\x80\x98",
                                                      "\xE2\x80\x99",
                                                      "\"",
                                                      "'",
                                                      "`",
                                                      "|",
                                                      "\r"};
constexpr std::array<std::string_view, 2> kNothing = {"\xEF\xBB\xBF", "\xE2\x80\x8B"};
// How programs and documents spell the escape character.
constexpr std::array<std::string_view, 8> kEscapes = {"\x1b",  "^[",  "\\033",   "\\x1b",
                                                      "\\x1B", "\\e", "\\u001b", "\xE2\x90\x9B"};

// Length of "[4;31m" or "[K" at the beginning; 0 when there is none. After an escape character any
// letter ends it.
size_t SequenceLength(std::string_view text, bool escaped) {
  if (text.empty() || text.front() != '[') return 0;
  size_t end = 1;
  while (end < text.size() && (IsDigit(text[end]) || text[end] == ';' || text[end] == '?')) ++end;
  if (end == text.size()) return 0;
  const bool letter = std::isalpha(static_cast<unsigned char>(text[end])) != 0;
  return (escaped && letter) || text[end] == 'm' || text[end] == 'K' ? end + 1 : 0;
}

// Length of an escape sequence, or of what is left of one; 0 when there is none.
size_t ResidueLength(std::string_view text) {
  for (const std::string_view escape : kEscapes) {
    if (!text.starts_with(escape)) continue;
    const size_t length = SequenceLength(text.substr(escape.size()), true);
    if (length > 0) return escape.size() + length;
    if (escape == "\x1b") return 1;
  }
  return SequenceLength(text, false);
}

// Length of what stands for a blank at the beginning (of one space or tab too), 0 for anything
// else.
size_t BlankLength(std::string_view text) {
  if (text.front() == ' ' || text.front() == '\t' || text.front() == '\v' || text.front() == '\f') {
    return 1;
  }
  for (const std::string_view blank : kBlanks) {
    if (text.starts_with(blank)) return blank.size();
  }
  // U+2000 to U+200A.
  if (text.size() >= 3 && text.starts_with("\xE2\x80") &&
      static_cast<unsigned char>(text[2]) <= 0x8A) {
    return 3;
  }
  return 0;
}

size_t NothingLength(std::string_view text) {
  for (const std::string_view nothing : kNothing) {
    if (text.starts_with(nothing)) return nothing.size();
  }
  return ResidueLength(text);
}

// Marks of quotations, comments and patches before a line.
void DropMarks(ToolLine* line) {
  size_t empty = 0;
  for (ToolWord& word : line->words) {
    const size_t marks = std::min(word.text.find_first_not_of(">#/*+"), word.text.size());
    word.text.erase(0, marks);
    word.place.column += marks;
    if (!word.text.empty()) break;
    ++empty;
  }
  line->words.erase(line->words.begin(), line->words.begin() + static_cast<std::ptrdiff_t>(empty));
}

bool IsRule(const ToolLine& line) {
  return std::all_of(line.words.begin(), line.words.end(), [](const ToolWord& word) {
    return word.text.find_first_not_of("-=+_~:.*") == std::string::npos;
  });
}

ToolLine CutWords(std::string_view text, size_t number) {
  ToolLine line;
  line.number = number;
  bool inside = false;
  size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (const size_t blank = BlankLength(rest); blank > 0) {
      inside = false;
      at += blank;
      continue;
    }
    if (const size_t nothing = NothingLength(rest); nothing > 0) {
      at += nothing;
      continue;
    }
    if (!inside) line.words.push_back({"", {number, at + 1}});
    inside = true;
    line.words.back().text += text[at++];
  }
  std::erase_if(line.words, [](const ToolWord& word) {
    return word.text.find_first_not_of(",;") == std::string::npos;
  });
  DropMarks(&line);
  return line;
}

// "\tGPU0\n" spelled out, as a program prints a string: back to what it stands for.
std::string Unescaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (next != 'n' && next != 't' && next != 'r' && next != '"') {
      result += text[i];
      continue;
    }
    ++i;
    if (next == 'n') result += '\n';
    if (next == 't') result += '\t';
    if (next == '"') result += ' ';
  }
  return result;
}

bool IsSpelledOut(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  const std::string_view body = text.substr(0, end == std::string_view::npos ? 0 : end);
  return body.find('\n') == std::string_view::npos && body.find("\\n") != std::string_view::npos;
}

size_t DigitsAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end - at;
}

// Length of the name in `prefix` + digits at the beginning of `text`; 0 when there is none.
size_t NumberedLength(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return 0;
  const size_t digits = DigitsAt(text, prefix.size());
  return digits == 0 || digits > 5 ? 0 : prefix.size() + digits;
}

constexpr std::array<std::string_view, 4> kAccelerators = {"GPU", "NPU", "Phy-ID", "PPU"};
constexpr std::array<std::string_view, 13> kNics = {
    "NIC",          "mlx4_", "mlx5_", "mlx5_bond_", "mlx5_ib", "mlx5_an", "bnxt_re",
    "bnxt_re_bond", "irdma", "rdmap", "efa_",       "hns_",    "erdma_"};

}  // namespace

std::string ToolLine::Joined() const {
  std::string text;
  for (const ToolWord& word : words) text += (text.empty() ? "" : " ") + word.text;
  return text;
}

std::vector<ToolLine> CutLines(std::string_view text) {
  std::string unescaped;
  if (IsSpelledOut(text)) {
    unescaped = Unescaped(text);
    text = unescaped;
  }
  std::vector<ToolLine> lines;
  size_t number = 1;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    ToolLine line = CutWords(text.substr(0, end), number++);
    if (!line.words.empty() && !IsRule(line)) lines.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

cluster::Error Refusal(const std::string& source, Place place, std::string message) {
  return {cluster::Code::kInvalidArgument, std::move(message),
          source + ":" + std::to_string(place.line) + ":" + std::to_string(place.column)};
}

std::string Shown(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string shown = "\"";
  for (const char c : text.substr(0, kMost)) shown += c < ' ' || c > '~' ? '?' : c;
  return shown + (text.size() > kMost ? "…\"" : "\"");
}

std::string_view LeadingDeviceName(std::string_view text) {
  size_t longest = 0;
  for (const std::string_view prefix : kAccelerators) {
    longest = std::max(longest, NumberedLength(text, prefix));
  }
  for (const std::string_view prefix : kNics) {
    longest = std::max(longest, NumberedLength(text, prefix));
  }
  return text.substr(0, longest);
}

bool IsDeviceName(std::string_view text) {
  return !text.empty() && LeadingDeviceName(text).size() == text.size();
}

std::string_view AcceleratorPrefix(std::string_view text) {
  const auto* found =
      std::find_if(kAccelerators.begin(), kAccelerators.end(),
                   [&](std::string_view prefix) { return text.starts_with(prefix); });
  return found == kAccelerators.end() || !IsDeviceName(text) ? std::string_view() : *found;
}

bool IsAcceleratorName(std::string_view text) { return !AcceleratorPrefix(text).empty(); }

}  // namespace muster::topology
