#include "tests/house/include_line.hpp"

#include <algorithm>
#include <cstddef>

namespace muster::house {

std::optional<Include> ParseInclude(std::string_view line) {
  const auto skip = [&line](std::string_view word) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(word)) return false;
    line.remove_prefix(word.size());
    return true;
  };
  if (!skip("#") || !skip("include")) return std::nullopt;
  const bool angled = skip("<");
  if (!angled && !skip("\"")) return std::nullopt;
  const std::size_t end = line.find(angled ? '>' : '"');
  if (end == std::string_view::npos) return std::nullopt;
  return Include{line.substr(0, end), angled};
}

}  // namespace muster::house
