// Characters of UTF-8 text. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster::cluster {

// In bytes, of the well-formed character at the front; 0 when it is malformed or there is none.
size_t CharacterLength(std::string_view text);

// A character (not empty) that shows nothing itself and changes how other text looks or what a
// terminal does: the controls of ECMA-48 (C0, DEL, C1) and the marks of the bidirectional algorithm
// (UAX #9).
bool IsHidden(std::string_view character);

}  // namespace muster::cluster
