// Nearest: what a mistyped word was most likely meant to be. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

// The choice that is the fewest typing errors away (a character too many, too few, another one, or
// two neighbours swapped), if those are at most two and a third of the word; else the first
// that begins with the word. Empty: none is near.
std::string Nearest(const std::string& word, const std::vector<std::string>& choices);

// "; did you mean \"get\"?", or nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& choices);

}  // namespace muster::cli
