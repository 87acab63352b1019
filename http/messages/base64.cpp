#include "http/messages/base64.hpp"

#include <openssl/evp.h>

#include <cstddef>

#include "cluster/base/check.hpp"

namespace muster::http {
namespace {

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string lines;
  for (const char c : text) {
    if (c != '\n' && c != '\r') lines += c;
  }
  if (lines.size() % 4 != 0) return std::nullopt;
  std::string bytes(lines.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), Bytes(lines),
                                   static_cast<int>(lines.size()));
  if (size < 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < lines.size() && lines[lines.size() - 1 - padding] == '=') {
    ++padding;
  }
  bytes.resize(bytes.size() - padding);
  // The library also takes white space, padding in the middle and bits that are left over.
  if (EncodeBase64(bytes) != lines) return std::nullopt;
  return bytes;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  // The library ends what it writes with a zero, in the place of the string's own.
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), Bytes(bytes),
                                   static_cast<int>(bytes.size()));
  MUSTER_CHECK(static_cast<std::size_t>(size) == text.size());
  return text;
}

}  // namespace muster::http
