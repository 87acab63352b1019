#include "cli/checks/yaml_path.hpp"

#include <algorithm>

namespace muster::cli {

using config::YamlNode;

const YamlNode* Given(const YamlNode& map, std::string_view key) {
  const YamlNode* found = map.Find(key);
  return found == nullptr || found->kind == YamlNode::Kind::kNull ? nullptr : found;
}

const YamlNode* Follow(const YamlNode& object, std::string_view path) {
  const YamlNode* node = &object;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = Given(*node, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

std::string Joined(const std::string& path, const std::string& step) {
  return path.empty() ? step : path + "." + step;
}

std::string Item(const std::string& list, std::size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

}  // namespace muster::cli
