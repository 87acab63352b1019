#include "http/messages/message.hpp"

#include <array>
#include <cstdio>

namespace muster::http {
namespace {

// JSON string contents: messages are our own UTF-8 text, so only what JSON forbids needs an escape.
std::string JsonEscape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned>(c));
      escaped += buffer.data();
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Response ErrorResponse(int status, std::string_view message) {
  Response response;
  response.status = status;
  response.body = "{\"error\":\"" + JsonEscape(message) + "\"}\n";
  return response;
}

}  // namespace muster::http
