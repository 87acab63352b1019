// Nearest: what a mistyped word was most likely meant to be. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

// cluster::NearestWord, else the first choice that begins with the word. Empty: none is near.
std::string Nearest(const std::string& word, const std::vector<std::string>& choices);

// "; did you mean \"get\"?", or nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& choices);

}  // namespace muster::cli
