// The one header of Catch2 2, by Catch2 3: the tests are written for both. On the include path
// where Catch2 3 is what the system has.
#pragma once

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <string>

namespace Catch {

using Matchers::EndsWith;
using Matchers::Equals;
using Matchers::Matches;
using Matchers::StartsWith;
using Matchers::UnorderedEquals;
using Matchers::VectorContains;
using TestEventListenerBase = EventListenerBase;

inline auto Contains(const std::string& text, CaseSensitive cases = CaseSensitive::Yes) {
  return Matchers::ContainsSubstring(text, cases);
}

inline std::uint32_t rngSeed() { return getSeed(); }

}  // namespace Catch

using Catch::Approx;  // NOLINT(google-global-names-in-headers): as Catch2 2 has it
