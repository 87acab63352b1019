// ParseYaml: text in, trees with marks out, or one error with file, line and column.
//
// Built on yaml-cpp's events, not on its Node: yaml-cpp accepts duplicate keys (the first wins),
// text in quotes that never ends, a last line without a colon, drops what follows a '%', and runs
// for ever on a lone comma. All of that is refused here. libyaml's marks would need less code, but
// one YAML library is enough, and yaml-cpp is the one that this project builds on. Pure function,
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/yaml/yaml_tree.hpp"

namespace muster::config {

struct YamlRules {
  std::size_t max_bytes = std::size_t{1} << 20U;
  int max_depth = 64;           // of maps and sequences in each other
  int64_t max_nodes = 100'000;  // of the whole text, aliases counted as often as they are used
  bool aliases = false;         // anchors and aliases are resolved instead of refused
  // Keys without quotes become what kubectl makes of them: `1: x` is "1", `yes: x` is "true".
  bool typed_keys = false;
  // Keys that a map has already are kept, and marked, instead of refused.
  bool repeated_keys = false;
};

// The documents of `text` that are not empty. Tags, merge keys ("<<"), directives and keys that are
// not scalars are refused always.
cluster::Result<std::vector<YamlNode>> ParseYaml(std::string_view text,
                                                 const std::string& file_name,
                                                 const YamlRules& rules);

}  // namespace muster::config
