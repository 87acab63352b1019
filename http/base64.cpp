#include "http/base64.hpp"

#include <cstddef>
#include <cstdint>

namespace muster::http {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;  // of the group of four that is being read
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      if (digits + padding < 2 || digits + padding >= 4) return std::nullopt;
      ++padding;
      continue;
    }
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (++digits < 4) continue;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 0xff);
    bits = 0;
    digits = 0;
  }
  if (digits == 0) return padding == 0 ? std::optional(bytes) : std::nullopt;
  if (digits == 1 || digits + padding != 4) return std::nullopt;
  const int unused = digits == 2 ? 4 : 2;
  if ((bits & ((1U << unused) - 1)) != 0) return std::nullopt;
  bits >>= unused;
  if (digits == 3) bytes += static_cast<char>(bits >> 8 & 0xff);
  bytes += static_cast<char>(bits & 0xff);
  return bytes;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits <<= 8;
      if (at + i < bytes.size()) bits |= static_cast<unsigned char>(bytes[at + i]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool padding = at + i > bytes.size();
      text += padding ? '=' : kAlphabet[bits >> (18 - 6 * i) & 0x3f];
    }
  }
  return text;
}

}  // namespace muster::http
