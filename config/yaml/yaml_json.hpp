// ToJson: a YAML tree as the JSON text that kubectl would send for it. Pure function, any thread.
#pragma once

#include <string>

#include "cluster/base/result.hpp"
#include "config/yaml/yaml_tree.hpp"

namespace muster::config {

// Scalars without quotes become what yaml_scalar.hpp says, keys stay in the order of the file.
// Refused: .inf and .nan, which JSON has no word for.
cluster::Result<std::string> ToJson(const YamlNode& node, const std::string& file_name);

}  // namespace muster::config
