#include "cli/flags/nearest.hpp"

#include <algorithm>

#include "cluster/base/nearest_word.hpp"

namespace muster::cli {

std::string Nearest(const std::string& word, const std::vector<std::string>& choices) {
  if (word.empty()) return {};
  if (const auto near = cluster::NearestWord(word, choices)) return *near;
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
