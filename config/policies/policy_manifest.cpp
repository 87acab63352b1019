#include "config/policies/policy_manifest.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "config/documents/manifest.hpp"
#include "config/file.hpp"
#include "config/yaml/yaml_parser.hpp"

namespace muster::config {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;

PolicyReading Refused(std::string message, std::string place) {
  return {Policy{}, {Error{Code::kInvalidArgument, std::move(message), std::move(place)}}};
}

// Of the documents that are ConfigMaps.
std::vector<const YamlNode*> ConfigMapsOf(const std::vector<YamlNode>& documents) {
  std::vector<const YamlNode*> found;
  for (const YamlNode& document : documents) {
    if (document.TextAt("kind") == "ConfigMap") found.push_back(&document);
  }
  return found;
}

// The entries that hold a policy. A lone ConfigMap may call its only one as it likes.
std::vector<const YamlEntry*> PoliciesOf(const std::vector<const YamlNode*>& config_maps) {
  std::vector<const YamlEntry*> found;
  for (const YamlNode* config_map : config_maps) {
    const YamlNode* data = config_map->Find("data");
    if (data == nullptr) continue;
    const bool only = config_maps.size() == 1 && data->entries.size() == 1;
    for (const YamlEntry& entry : data->entries) {
      if (only || entry.key == kPolicyKey) found.push_back(&entry);
    }
  }
  return found;
}

std::size_t IndentOf(std::string_view line) {
  const std::size_t indent = line.find_first_not_of(' ');
  return indent == std::string_view::npos ? line.size() : indent;
}

// The text with all lines but those of a block made empty, so that what is read of the rest has
// its place in the whole. Nothing: `value` is no block, or one that is not kept line by line.
std::optional<std::string> OnlyBlock(std::string_view text, const YamlNode& value) {
  std::string kept;
  std::string block;  // as it should be in `value`, but for empty lines at its end
  std::size_t indent = 0;
  int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const bool blank = IndentOf(line) == line.size();
    if (++number > value.mark.line) {
      if (indent == 0 && !blank) indent = IndentOf(line);
      if (!blank && (indent == 0 || IndentOf(line) < indent)) break;
      kept += line;
      if (!blank) block += line.substr(indent);
      block += '\n';
    }
    kept += '\n';
  }
  const auto trimmed = [](std::string_view all) {
    return all.substr(0, all.find_last_not_of(" \n") + 1);
  };
  if (trimmed(block) != trimmed(value.text)) return std::nullopt;
  return kept;
}

}  // namespace

PolicyReading ReadPolicyOrManifest(std::string_view text, const std::string& file_name) {
  YamlRules rules;
  rules.max_bytes = kMaxManifestBytes;
  rules.max_depth = 100;
  rules.max_nodes = 1'000'000;
  rules.aliases = true;
  rules.repeated_keys = true;
  const Result<std::vector<YamlNode>> documents = ParseYaml(text, file_name, rules);
  if (!documents.ok()) return ReadPolicy(text, file_name);
  const std::vector<const YamlNode*> config_maps = ConfigMapsOf(*documents);
  if (config_maps.empty()) return ReadPolicy(text, file_name);
  const std::vector<const YamlEntry*> policies = PoliciesOf(config_maps);
  if (policies.empty()) {
    return Refused("data: expected a policy under " + std::string(kPolicyKey) + ", found none",
                   At(file_name, config_maps.front()->mark));
  }
  if (policies.size() > 1) {
    return Refused("data: expected one policy, found " + std::to_string(policies.size()),
                   At(file_name, policies[1]->mark));
  }
  const YamlEntry* policy = policies.front();
  const std::string path = "data[" + policy->key + "]";
  if (!policy->value.scalar()) {
    return Refused(path + ": expected the text of a policy, found " + Describe(policy->value),
                   At(file_name, policy->mark));
  }
  const Result<std::string> clean = CleanText(text, file_name, kMaxManifestBytes);
  const auto block = OnlyBlock(clean.ok() ? *clean : std::string(), policy->value);
  if (block) return ReadPolicy(*block, file_name);
  return ReadPolicy(policy->value.text, At(file_name, policy->value.mark) + ": " + path);
}

PolicyReading ReadPolicyOrManifestFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxManifestBytes);
  if (!text.ok()) return {Policy{}, {text.error()}};
  return ReadPolicyOrManifest(*text, path);
}

}  // namespace muster::config
