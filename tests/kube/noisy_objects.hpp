// Objects of the API with much beside what is used. For tests of kube/ only.
#pragma once

#include <algorithm>
#include <string>

#include "tests/kube/record_dice.hpp"

namespace muster::kube::testing {

// Anything of which nothing is used.
inline std::string Noise(Dice& dice, int depth = 0) {
  switch (dice.From(0, depth < 4 ? 5 : 3)) {
    case 0:
      return std::to_string(dice.From(-9, 9)) + (dice.OneIn(2) ? ".5e-3" : "");
    case 1:
      return dice.Pick<std::string>({"null", "true", "[]", "{}"});
    case 2:
    case 3:
      return R"(")" + std::string(static_cast<size_t>(dice.From(0, 90)), 'x') + R"(\"\u12ab")";
    case 4: {
      std::string list = "[" + Noise(dice, depth + 1);
      for (int64_t i = dice.From(0, 3); i > 0; --i) list += " , " + Noise(dice, depth + 1);
      return list + "]";
    }
    default:
      return R"({"name":)" + Noise(dice, depth + 1) + R"(,"spec":)" + Noise(dice, depth + 1) +
             R"(,"labels":)" + Noise(dice, depth + 1) + "}";
  }
}

// `object` with noise in it.
inline std::string Fattened(std::string object, Dice& dice) {
  for (const char* const place :
       {R"("metadata":{)", R"("spec":{)", R"("status":{)", R"("resources":{)", R"("labels":{)"}) {
    const size_t at = object.find(place);
    if (at == std::string::npos) continue;
    const size_t begin = at + std::string_view(place).size();
    const bool last = object[begin] == '}';
    const std::string value = place == std::string_view(R"("labels":{)") ? "\"x\"" : Noise(dice);
    object.insert(begin, R"("managedFields":)" + value + (last ? "" : ","));
  }
  return object;
}

}  // namespace muster::kube::testing
