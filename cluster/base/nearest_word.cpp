#include "cluster/base/nearest_word.hpp"

#include <algorithm>

namespace muster::cluster {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Letters to add, drop, change or swap with the next, by the table of all pairs of beginnings.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) table[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) table[0][j] = j;
  const auto same = [&](std::size_t i, std::size_t j) { return Lower(a[i]) == Lower(b[j]); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = table[i][j] + (same(i, j) ? 0 : 1);
      std::size_t least = std::min({table[i][j + 1] + 1, table[i + 1][j] + 1, change});
      if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j)) {
        least = std::min(least, table[i - 1][j - 1] + 1);
      }
      table[i + 1][j + 1] = least;
    }
  }
  return table[a.size()][b.size()];
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

}  // namespace muster::cluster
