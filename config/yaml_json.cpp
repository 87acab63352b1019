#include "config/yaml_json.hpp"

#include <optional>
#include <utility>

#include "config/yaml_scalar.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

class JsonWriter {
 public:
  // False when `refused` says why not.
  bool Write(const YamlNode& node) {
    switch (node.kind) {
      case YamlNode::Kind::kNull:
        json_ += "null";
        return true;
      case YamlNode::Kind::kPlain:
        return WritePlain(node);
      case YamlNode::Kind::kText:
        WriteText(node.text);
        return true;
      case YamlNode::Kind::kSequence:
        return WriteSequence(node);
      case YamlNode::Kind::kMap:
        return WriteMap(node);
    }
    return true;
  }

  std::string TakeJson() { return std::move(json_); }
  const YamlNode* refused() const { return refused_; }

 private:
  bool WritePlain(const YamlNode& node) {
    const Scalar scalar = ResolvePlain(node.text);
    if (scalar.type == ScalarType::kNotFinite) {
      refused_ = &node;
      return false;
    }
    if (scalar.type == ScalarType::kText) {
      WriteText(node.text);
    } else {
      json_ += scalar.json;
    }
    return true;
  }

  bool WriteSequence(const YamlNode& node) {
    json_ += '[';
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (i > 0) json_ += ',';
      if (!Write(node.items[i])) return false;
    }
    json_ += ']';
    return true;
  }

  bool WriteMap(const YamlNode& node) {
    json_ += '{';
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
      if (i > 0) json_ += ',';
      WriteText(node.entries[i].key);
      json_ += ':';
      if (!Write(node.entries[i].value)) return false;
    }
    json_ += '}';
    return true;
  }

  void WriteText(const std::string& text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    json_ += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        json_ += '\\';
        json_ += c;
      } else if (c == '\n') {
        json_ += "\\n";
      } else if (c == '\t') {
        json_ += "\\t";
      } else if (byte < 0x20) {
        json_ += "\\u00";
        json_ += kHex[byte >> 4U];
        json_ += kHex[byte & 0xFU];
      } else {
        json_ += c;
      }
    }
    json_ += '"';
  }

  std::string json_;
  const YamlNode* refused_ = nullptr;
};

}  // namespace

Result<std::string> ToJson(const YamlNode& node, const std::string& file_name) {
  JsonWriter writer;
  if (writer.Write(node)) return writer.TakeJson();
  return Error{Code::kInvalidArgument,
               "expected a number that JSON can hold, found " + Describe(*writer.refused()),
               At(file_name, writer.refused()->mark)};
}

}  // namespace muster::config
