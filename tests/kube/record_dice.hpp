// Dice: random choices for records, from a seed. For tests of kube/ only.
#pragma once

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "cluster/records/selector.hpp"

namespace muster::kube::testing {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  int64_t From(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine_);
  }
  bool OneIn(int64_t n) { return From(1, n) == 1; }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return *(choices.begin() + From(0, static_cast<int64_t>(choices.size()) - 1));
  }
  std::string Word() {
    return Pick<std::string>({"a", "node-1", "example.com/key", "Ünïcode", "quo\"te", "back\\slash",
                              "tab\there", "<&>", "x.y-z", "漢字", "0"}) +
           std::to_string(From(0, 99));
  }
  std::string WordOrNothing() { return OneIn(2) ? "" : Word(); }
  cluster::Labels Texts() {
    cluster::Labels texts;
    for (int64_t i = From(0, 3); i > 0; --i) texts[Word()] = WordOrNothing();
    return texts;
  }
  std::vector<std::string> Words() {
    std::vector<std::string> words;
    for (int64_t i = From(0, 3); i > 0; --i) words.push_back(Word());
    return words;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace muster::kube::testing
