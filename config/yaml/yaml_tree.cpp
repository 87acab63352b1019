#include "config/yaml/yaml_tree.hpp"

namespace muster::config {

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string YamlNode::TextAt(std::string_view key) const {
  const YamlNode* node = Find(key);
  return node == nullptr ? std::string() : node->text;
}

std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kText:
      return "the text " + Quoted(node.text);
    case YamlNode::Kind::kPlain:
      return Quoted(node.text);
  }
  return "nothing";
}

}  // namespace muster::config
