#include "kube/json/json_writer.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "cluster/base/utf8.hpp"

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

void AppendUnicodeEscape(std::string& out, unsigned code) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 0xFU];
}

// Of two or three bytes.
unsigned CodeOf(std::string_view sequence) {
  const auto bits = [&](size_t i) { return static_cast<unsigned char>(sequence[i]) & 0x3FU; };
  const auto lead = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 2) return (lead & 0x1FU) << 6U | bits(1);
  return (lead & 0x0FU) << 12U | bits(1) << 6U | bits(2);
}

// Appends the first character of `text` escaped; returns how many bytes it had.
size_t AppendEscaped(std::string& out, std::string_view text) {
  const char c = text.front();
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) {
    const size_t length = cluster::CharacterLength(text);
    const std::string_view sequence = text.substr(0, length);
    if (length == 0) {
      out += "\\ufffd";
    } else if (sequence == "\u2028" || sequence == "\u2029" || cluster::IsHidden(sequence)) {
      AppendUnicodeEscape(out, CodeOf(sequence));
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
