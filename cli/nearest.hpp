// Nearest: what a mistyped word was most likely meant to be. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

// The choice that the fewest typing errors lead to (a character too many, too few, another one, or
// two neighbours swapped): at most two, and no more than one for every three characters of the
// word, but one in any case. Else the first choice that begins with the word. Empty: none is near.
std::string Nearest(const std::string& word, const std::vector<std::string>& choices);

// "; did you mean \"get\"?", or nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& choices);

}  // namespace muster::cli
