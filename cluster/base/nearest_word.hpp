// NearestWord: what somebody who mistyped a word most likely meant. Pure function, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cluster {

// The word of `known` with the fewest letters to add, drop, change or swap, upper case or lower
// case being the same; the first of equals. Nothing when even that is more than a third of its
// letters.
std::optional<std::string> NearestWord(std::string_view typed,
                                       const std::vector<std::string>& known);

}  // namespace muster::cluster
