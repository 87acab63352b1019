#include "config/dns_names.hpp"

#include <algorithm>

namespace muster::config {
namespace {

constexpr std::size_t kMostLabel = 63;
constexpr std::size_t kMostSubdomain = 253;

bool LowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

bool IsDnsLabel(std::string_view text) {
  return !text.empty() && text.size() <= kMostLabel && LowerOrDigit(text.front()) &&
         LowerOrDigit(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return LowerOrDigit(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > kMostSubdomain) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!IsDnsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (!IsDnsSubdomain(text.substr(0, slash))) return false;
    text = text.substr(slash + 1);
  }
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= 63 && plain(text.front()) && plain(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return plain(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace muster::config
