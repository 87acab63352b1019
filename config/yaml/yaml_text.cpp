#include "config/yaml/yaml_text.hpp"

#include <array>

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr uint32_t kNotUtf8 = 0xFFFFFFFF;

struct Character {
  uint32_t code = kNotUtf8;
  std::size_t bytes = 1;
};

// The character at `at`; code is kNotUtf8 for overlong forms, surrogates and cut-off sequences.
Character Decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < bytes) return {};
  uint32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(at + i) & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes};
}

std::string Hex(uint32_t code, int digits) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    text += kDigits[(code >> static_cast<unsigned>(shift)) & 0xFU];
  }
  return text;
}

// YAML's set of printable characters, without the second byte order mark that it allows.
bool Printable(uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n';
  if (code >= 0x7F && code <= 0x9F) return code == 0x85;
  return code != 0xFEFF && code != 0xFFFE && code != 0xFFFF;
}

Error Refused(const std::string& file_name, Mark mark, std::string message) {
  return Error{Code::kInvalidArgument, std::move(message), At(file_name, mark)};
}

}  // namespace

std::string At(const std::string& file_name, Mark mark) {
  return file_name + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
}

Result<std::string> CleanText(std::string_view text, const std::string& file_name,
                              std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    return Error{Code::kExhausted,
                 "expected at most " + std::to_string(max_bytes) + " bytes, found " +
                     std::to_string(text.size()),
                 file_name};
  }
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  std::string clean;
  clean.reserve(text.size());
  Mark mark;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "\r\n") ++at;
    const Character character = Decode(text, at);
    if (character.code == kNotUtf8) {
      return Refused(
          file_name, mark,
          "expected UTF-8 text, found the byte 0x" + Hex(static_cast<unsigned char>(text[at]), 2));
    }
    if (!Printable(character.code)) {
      return Refused(
          file_name, mark,
          "expected printable text, found the control character U+" + Hex(character.code, 4));
    }
    if (character.code == '%' && mark.column == 1) {
      return Refused(file_name, mark, "expected no directive: a line must not begin with '%'");
    }
    clean.append(text.substr(at, character.bytes));
    at += character.bytes;
    ++mark.column;
    if (character.code == '\n') mark = Mark{mark.line + 1, 1};
  }
  return clean;
}

std::vector<Chunk> SplitDocuments(std::string_view clean_text) {
  std::vector<Chunk> chunks;
  std::size_t begin = 0;
  int64_t first_line = 1;
  int64_t line = 1;
  const auto end_chunk = [&](std::size_t end) {
    chunks.push_back({clean_text.substr(begin, end - begin), first_line});
    begin = end;
    first_line = line;
  };
  for (std::size_t at = 0; at < clean_text.size(); ++line) {
    const std::size_t feed = clean_text.find('\n', at);
    const std::size_t end = feed == std::string_view::npos ? clean_text.size() : feed + 1;
    const std::string_view text = clean_text.substr(at, end - at);
    const bool marker = text.substr(0, 3) == "---" &&
                        (text.size() == 3 || text[3] == ' ' || text[3] == '\t' || text[3] == '\n');
    if (marker && at != begin) end_chunk(at);
    at = end;
  }
  end_chunk(clean_text.size());
  return chunks;
}

bool IsUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = Decode(text, at);
    if (character.code == kNotUtf8) return false;
    at += character.bytes;
  }
  return true;
}

bool IsPrintableLine(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = Decode(text, at);
    if (character.code < 0x20 || character.code == kNotUtf8 || !Printable(character.code)) {
      return false;
    }
    at += character.bytes;
  }
  return true;
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kMostCharacters = 60;
  std::string shown = "\"";
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) {
    if (characters == kMostCharacters) return shown + "…\"";
    const Character character = Decode(text, at);
    if (character.code == '"' || character.code == '\\') {
      shown += '\\';
      shown += text[at];
    } else if (character.code == '\n') {
      shown += "\\n";
    } else if (character.code == '\t') {
      shown += "\\t";
    } else if (character.code == kNotUtf8) {
      shown += "\\x" + Hex(static_cast<unsigned char>(text[at]), 2);
    } else if (!Printable(character.code)) {
      shown +=
          character.code > 0xFF ? "\\u" + Hex(character.code, 4) : "\\x" + Hex(character.code, 2);
    } else {
      shown.append(text.substr(at, character.bytes));
    }
    at += character.bytes;
  }
  return shown + "\"";
}

}  // namespace muster::config
