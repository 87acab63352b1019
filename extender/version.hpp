// The version that the binary, its metrics and its user agent name.
#pragma once

namespace muster::extender {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace muster::extender
