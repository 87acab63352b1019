// Listed: words in a sentence. Pure function, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::config {

// "a, b or c", where `last_joint` is " or ".
template <typename Strings>
std::string Listed(const Strings& words, std::string_view last_joint) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last_joint : std::string_view(", ");
    text += words[i];
  }
  return text;
}

}  // namespace muster::config
