#include "cluster/base/utf8.hpp"

#include <algorithm>
#include <array>

namespace muster::cluster {

size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (text.empty() || lead < 0x80) return text.empty() ? 0 : 1;
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

bool IsHidden(std::string_view character) {
  constexpr std::array<std::string_view, 12> kBidirectional = {
      "\u061C", "\u200E", "\u200F", "\u202A", "\u202B", "\u202C",
      "\u202D", "\u202E", "\u2066", "\u2067", "\u2068", "\u2069"};
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  if (character.size() == 2 && lead == 0xC2) return static_cast<unsigned char>(character[1]) < 0xA0;
  return std::find(kBidirectional.begin(), kBidirectional.end(), character) != kBidirectional.end();
}

}  // namespace muster::cluster
