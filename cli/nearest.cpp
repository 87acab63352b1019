#include "cli/nearest.hpp"

#include <algorithm>
#include <cstddef>

namespace muster::cli {
namespace {

constexpr size_t kMostErrors = 2;
constexpr size_t kLongest = 64;  // words; nobody mistypes longer ones into a choice

// Optimal string alignment: by beginnings of both words.
size_t Errors(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t other = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, other});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

std::string Nearest(const std::string& word, const std::vector<std::string>& choices) {
  if (word.empty() || word.size() > kLongest) return {};
  std::string nearest;
  size_t least = std::min(kMostErrors, std::max<size_t>(1, word.size() / 3)) + 1;
  for (const std::string& choice : choices) {
    const size_t errors = Errors(word, choice);
    if (errors >= least) continue;
    least = errors;
    nearest = choice;
  }
  if (!nearest.empty()) return nearest;
  const auto begun = std::find_if(choices.begin(), choices.end(), [&](const std::string& choice) {
    return choice.starts_with(word);
  });
  return begun == choices.end() ? std::string() : *begun;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& choices) {
  const std::string nearest = Nearest(word, choices);
  return nearest.empty() ? nearest : "; did you mean \"" + nearest + "\"?";
}

}  // namespace muster::cli
