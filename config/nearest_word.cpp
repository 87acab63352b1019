#include "config/nearest_word.hpp"

#include <algorithm>
#include <numeric>

namespace muster::config {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein's distance, one row of the table at a time.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (Lower(a[i]) == Lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> NearestWord(std::string_view typed,
                                       const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 64;  // no field is longer, and the table stays small
  if (typed.size() > kLongest) return std::nullopt;
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& word : known) {
    const std::size_t distance = Distance(typed, word);
    if (distance * 3 > word.size() || (nearest != nullptr && distance >= least)) continue;
    nearest = &word;
    least = distance;
  }
  if (nearest == nullptr) return std::nullopt;
  return *nearest;
}

}  // namespace muster::config
