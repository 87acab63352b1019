#include "kube/json_writer.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace muster::kube {

namespace {

constexpr uint64_t Repeat(uint8_t byte) { return 0x0101010101010101ULL * byte; }

// The highest bit of each byte that is zero. Only the lowest such byte is certain, which is all
// that is used.
constexpr uint64_t ZeroBytes(uint64_t word) { return (word - Repeat(1)) & ~word & Repeat(0x80); }

constexpr bool IsHtml(char c) { return c == '<' || c == '>' || c == '&'; }

// What a run of characters that need no attention consists of: when reading a string, and when
// writing one.
enum class Plain { kReading, kWriting };

template <Plain kPlain>
constexpr bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte >= 0x80 || c == '"' || c == '\\') return false;
  return kPlain == Plain::kReading || !IsHtml(c);
}

template <Plain kPlain>
size_t PlainPrefix(std::string_view text) {
  size_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + 8 <= text.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, 8);
      uint64_t special = ((word - Repeat(0x20)) & ~word & Repeat(0x80)) | (word & Repeat(0x80)) |
                         ZeroBytes(word ^ Repeat('"')) | ZeroBytes(word ^ Repeat('\\'));
      if constexpr (kPlain == Plain::kWriting) {
        special |= ZeroBytes(word ^ Repeat('<')) | ZeroBytes(word ^ Repeat('>')) |
                   ZeroBytes(word ^ Repeat('&'));
      }
      if (special != 0) return at + static_cast<size_t>(std::countr_zero(special)) / 8;
    }
  }
  while (at < text.size() && IsPlain<kPlain>(text[at])) ++at;
  return at;
}

// Length of the well-formed UTF-8 sequence at the front, 0 when it is malformed.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void AppendUnicodeEscape(std::string& out, unsigned code) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 0xFU];
}

// Appends the first character of `text` escaped; returns how many bytes it had.
size_t AppendEscaped(std::string& out, std::string_view text) {
  const char c = text.front();
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) {
    const size_t length = SequenceLength(text);
    const std::string_view sequence = text.substr(0, length);
    if (length == 0) {
      out += "\\ufffd";
    } else if (sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9") {
      AppendUnicodeEscape(out, sequence.back() == '\xA8' ? 0x2028U : 0x2029U);
    } else {
      out += sequence;
    }
    return length == 0 ? 1 : length;
  }
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    default:  // control characters, and '<', '>', '&'
      AppendUnicodeEscape(out, byte);
  }
  return 1;
}

}  // namespace

size_t PlainJsonPrefix(std::string_view text) { return PlainPrefix<Plain::kReading>(text); }

std::string_view CutText(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  // Back to the first byte of the character that the cut would go through.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

void AppendJsonText(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t plain = PlainPrefix<Plain::kWriting>(text);
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (!text.empty()) text.remove_prefix(AppendEscaped(out, text));
  }
  out += '"';
}

JsonWriter& JsonWriter::Integer(int64_t value) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return Raw({text, static_cast<size_t>(end.ptr - text)});
}

JsonWriter& JsonWriter::Decimal(double value) {
  if (!std::isfinite(value)) return Null();
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return Raw({text, static_cast<size_t>(end.ptr - text)});
}

}  // namespace muster::kube
