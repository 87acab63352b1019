// The order of pods by the numbers in their names.
#include "engine/rank.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::engine {

TEST_CASE("numbers in names of pods order as numbers", "[engine][rank]") {
  const std::vector<std::string> ordered = {
      "train-0",    "train-1",       "train-02",      "train-2",        "train-9-abcde",
      "train-9-zz", "train-10-abcd", "train-a-0-9-x", "train-a-0-10-x", "train-a-1-0-x"};
  for (size_t i = 0; i < ordered.size(); ++i) {
    for (size_t j = 0; j < ordered.size(); ++j) {
      INFO(ordered[i] << " and " << ordered[j]);
      const int order = CompareNatural(ordered[i], ordered[j]);
      CHECK((order < 0) == (i < j));
      CHECK((order == 0) == (i == j));
    }
  }
}

TEST_CASE("numbers of any length are compared", "[engine][rank]") {
  const std::string large(30, '9');
  CHECK(CompareNatural("p" + large, "p1" + std::string(30, '0')) < 0);
  CHECK(CompareNatural("p", "p0") < 0);
  CHECK(CompareNatural("", "") == 0);
}

}  // namespace muster::engine
