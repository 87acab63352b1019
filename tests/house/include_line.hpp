// What an #include line names. Pure functions.
#pragma once

#include <optional>
#include <string_view>

namespace muster::house {

struct Include {
  std::string_view name;
  bool angled = false;  // <name>, not "name"
};

// Nothing: the line includes nothing, or a macro says what.
std::optional<Include> ParseInclude(std::string_view line);

}  // namespace muster::house
