// Texts that are lists. Pure; for any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace muster::cluster {

// "a,b," -> "a", "b", "": the parts around each separator, one more than there are separators. They
// point into `text`.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace muster::cluster
