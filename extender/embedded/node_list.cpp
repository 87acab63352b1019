#include "extender/embedded/node_list.hpp"

#include <set>
#include <utility>

#include "config/dns_names.hpp"
#include "config/documents/manifest.hpp"
#include "config/documents/node_pool.hpp"
#include "config/yaml/yaml_json.hpp"
#include "config/yaml/yaml_text.hpp"
#include "kube/decode/decode.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

Error Wrong(std::string message, const char* place) {
  return Error{Code::kInvalidArgument, std::move(message), place};
}

class Reader {
 public:
  // Places in errors are paths in the object.
  Status Add(const std::string& json, const config::YamlNode& object) {
    const std::string name = object.TextAt("kind");
    if (name == "Namespace") return cluster::Ok{};
    if (name != "Node")
      return Wrong("expected a Node or NodePool, found " + config::Quoted(name), "kind");
    Result<kube::DecodedNode> node =
        kube::DecodeNode(json, kube::DecodeOptions{.source = kube::Source::kManifest});
    if (!node.ok()) {
      Error error = node.error();  // its paths begin with the kind
      if (error.place.starts_with("Node")) error.place.erase(0, error.place.find('.') + 1);
      return error;
    }
    if (!config::IsDnsSubdomain(node->node.name)) {
      return Wrong(
          "expected a DNS-1123 subdomain (lower-case letters, digits, '-' and '.', at "
          "most 253), found " +
              config::Quoted(node->node.name),
          "metadata.name");
    }
    if (!names_.insert(node->node.name).second)
      return Wrong(
          "expected a name of its own, found " + config::Quoted(node->node.name) + " twice",
          "metadata.name");
    for (const std::string& warning : node->warnings)
      list_.warnings.push_back("node " + node->node.name + ": " + warning);
    list_.nodes.push_back(std::move(node->node));
    return cluster::Ok{};
  }

  Status AddDocument(const config::ManifestDocument& document) {
    const config::YamlNode& root = document.source();
    if (document.kind() != "List") {
      const Status added = Add(document.json(), root);
      return added.ok() ? added : Status(document.Locate(added.error()));
    }
    const config::YamlNode* items = root.Find("items");
    for (std::size_t i = 0; items != nullptr && i < items->items.size(); ++i) {
      const Result<std::string> json = config::ToJson(items->items[i], document.file_name());
      if (!json.ok()) return json.error();
      const Status added = Add(*json, items->items[i]);
      if (!added.ok()) return document.Locate(added.error().At("items[" + std::to_string(i) + "]"));
    }
    return cluster::Ok{};
  }

  NodeList Take() { return std::move(list_); }

 private:
  NodeList list_;
  std::set<std::string> names_;
};

}  // namespace

Result<NodeList> ReadNodeList(std::string_view text, const std::string& file_name) {
  Result<std::vector<config::ManifestDocument>> parsed = config::ParseManifests(text, file_name);
  if (!parsed.ok()) return parsed.error();
  const Result<std::vector<config::ManifestDocument>> documents =
      config::ExpandNodePools(*std::move(parsed));
  if (!documents.ok()) return documents.error();
  Reader reader;
  for (const config::ManifestDocument& document : *documents) {
    if (Status added = reader.AddDocument(document); !added.ok()) return added.error();
  }
  NodeList list = reader.Take();
  if (list.nodes.empty())
    return Error{Code::kInvalidArgument, "expected Nodes, found none", file_name + ":1:1"};
  return list;
}

}  // namespace muster::extender
