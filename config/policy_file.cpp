#include "config/policy_file.hpp"

#include <utility>

#include "config/file.hpp"
#include "config/policy_reader.hpp"
#include "config/yaml_parser.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

bool operator==(const Policy& a, const Policy& b) { return WritePolicy(a) == WritePolicy(b); }

Result<Policy> LoadPolicy(std::string_view text, const std::string& file_name) {
  YamlRules rules;
  rules.max_bytes = kMaxPolicyBytes;
  const Result<std::vector<YamlNode>> documents = ParseYaml(text, file_name, rules);
  if (!documents.ok()) return documents.error();
  if (documents->empty()) {
    return Error{Code::kInvalidArgument,
                 "expected a policy (apiVersion: muster.dev/v1alpha1, kind: Policy), found no text",
                 At(file_name, Mark{})};
  }
  if (documents->size() > 1) {
    return Error{Code::kInvalidArgument,
                 "expected one document, found " + std::to_string(documents->size()),
                 At(file_name, (*documents)[1].mark)};
  }
  return PolicyReader(documents->front(), file_name).Read();
}

Result<Policy> LoadPolicyFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxPolicyBytes);
  if (!text.ok()) return text.error();
  return LoadPolicy(*text, path);
}

}  // namespace muster::config
