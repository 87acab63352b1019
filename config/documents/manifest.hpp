// ParseManifests: a file of Kubernetes objects, as kubectl reads it, to one JSON text per document;
// and back from a field of the object to its line in the file.
//
//   auto documents = ParseManifests(text, "job.yaml");
//   for (const ManifestDocument& document : *documents) {
//     auto pod = DecodePod(document.json());
//     if (!pod.ok()) return document.Locate(pod.error());  // job.yaml:14:9: spec.containers[0]: …
//   }
//
// Values, immutable once built; threads share them as they share a const string.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/yaml/yaml_tree.hpp"

namespace muster::config {

class ManifestDocument {
 public:
  // `source` has the marks of what is in `json`, under the same paths.
  ManifestDocument(std::string json, std::shared_ptr<const YamlNode> source, std::string file_name);

  const std::string& json() const { return json_; }
  const YamlNode& source() const { return *source_; }
  const std::string& file_name() const { return file_name_; }
  std::string_view api_version() const { return TextAt("apiVersion"); }
  std::string_view kind() const { return TextAt("kind"); }

  // "file:line:column" of "spec.containers[0].image", or of the nearest value around it that the
  // document has. Keys with dots in them are found as they are ("metadata.labels.a.b/c") and in
  // brackets ("metadata.labels[a.b/c]").
  std::string LocationOf(std::string_view path) const;
  // An error whose place is a path in this document, with the location as its place and the path
  // before its message.
  cluster::Error Locate(const cluster::Error& error) const;

 private:
  std::string_view TextAt(std::string_view key) const;

  std::string json_;
  std::shared_ptr<const YamlNode> source_;
  std::string file_name_;
};

inline constexpr std::size_t kMaxManifestBytes = std::size_t{16} << 20U;

// The documents of a YAML or JSON text that are not empty, in order; `kind: List` is one document,
// and so is a list of one kind (NodeList): a List, whose items say what they are.
// Each must be a map with apiVersion and kind. Values are typed as kubectl types them; anchors and
// aliases are resolved. Refused though kubectl accepts them: duplicate keys, tags, merge keys.
cluster::Result<std::vector<ManifestDocument>> ParseManifests(std::string_view text,
                                                              const std::string& file_name);
cluster::Result<std::vector<ManifestDocument>> ParseManifestFile(const std::string& path);

}  // namespace muster::config
