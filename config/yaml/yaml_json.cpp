#include "config/yaml/yaml_json.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>

#include "config/yaml/yaml_scalar.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void WriteText(const std::string& text, Writer& json) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

// Null, or the scalar for which JSON has no word.
const YamlNode* Write(const YamlNode& node, Writer& json);

const YamlNode* WritePlain(const YamlNode& node, Writer& json) {
  const Scalar scalar = ResolvePlain(node.text);
  if (scalar.type == ScalarType::kNotFinite) return &node;
  if (scalar.type == ScalarType::kText) {
    WriteText(node.text, json);
  } else {
    json.RawValue(scalar.json.data(), scalar.json.size(), rapidjson::kNumberType);
  }
  return nullptr;
}

const YamlNode* WriteSequence(const YamlNode& node, Writer& json) {
  json.StartArray();
  for (const YamlNode& item : node.items) {
    if (const YamlNode* refused = Write(item, json)) return refused;
  }
  json.EndArray();
  return nullptr;
}

const YamlNode* WriteMap(const YamlNode& node, Writer& json) {
  json.StartObject();
  for (const auto& entry : node.entries) {
    WriteText(entry.key, json);
    if (const YamlNode* refused = Write(entry.value, json)) return refused;
  }
  json.EndObject();
  return nullptr;
}

const YamlNode* Write(const YamlNode& node, Writer& json) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      json.Null();
      return nullptr;
    case YamlNode::Kind::kPlain:
      return WritePlain(node, json);
    case YamlNode::Kind::kText:
      WriteText(node.text, json);
      return nullptr;
    case YamlNode::Kind::kSequence:
      return WriteSequence(node, json);
    case YamlNode::Kind::kMap:
      return WriteMap(node, json);
  }
  return nullptr;
}

}  // namespace

Result<std::string> ToJson(const YamlNode& node, const std::string& file_name) {
  rapidjson::StringBuffer out;
  Writer json(out);
  if (const YamlNode* refused = Write(node, json)) {
    return Error{Code::kInvalidArgument,
                 "expected a number that JSON can hold, found " + Describe(*refused),
                 At(file_name, refused->mark)};
  }
  return std::string(out.GetString(), out.GetSize());
}

}  // namespace muster::config
