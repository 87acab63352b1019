#include "config/fields/field_file.hpp"

#include "config/fields/field_reader.hpp"
#include "config/yaml/yaml_parser.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

std::vector<Error> ReadFields(std::string_view text, const std::string& file_name,
                              const FieldFile& file) {
  YamlRules rules;
  rules.max_bytes = file.max_bytes;
  rules.repeated_keys = true;
  const Result<std::vector<YamlNode>> documents = ParseYaml(text, file_name, rules);
  if (!documents.ok()) return {documents.error()};
  const auto refused = [&](std::string message, Mark mark) {
    return std::vector<Error>{{Code::kInvalidArgument, std::move(message), At(file_name, mark)}};
  };
  const std::string expected = "expected " + std::string(file.what);
  if (documents->empty()) return refused(expected + ", found no text", Mark{});
  const YamlNode& root = documents->front();
  if (documents->size() > 1) {
    return refused("expected one document, found " + std::to_string(documents->size()),
                   (*documents)[1].mark);
  }
  if (root.kind != YamlNode::Kind::kMap) {
    return refused(expected + ", found " + Describe(root), root.mark);
  }
  FieldReader reader(file_name, file.fields);
  reader.Read(root);
  // Only values that are each right can contradict each other.
  if (reader.ok()) reader.Refuse(file.contradictions(), file.notes);
  return reader.Faults();
}

}  // namespace muster::config
