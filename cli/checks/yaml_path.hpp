// Paths in a manifest: "spec.template", "items[2]". Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/yaml/yaml_tree.hpp"

namespace muster::cli {

// Null where it is not there, or null.
const config::YamlNode* Given(const config::YamlNode& map, std::string_view key);
// What is at the path of keys; empty: `object` itself.
const config::YamlNode* Follow(const config::YamlNode& object, std::string_view path);

std::string Joined(const std::string& path, const std::string& step);
std::string Item(const std::string& list, std::size_t index);

}  // namespace muster::cli
