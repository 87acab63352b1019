// libFuzzer: any text is a list of objects whose JSON parses back to itself, or one error with its
// place; pools expand or are refused; every path has a location.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/base/check.hpp"
#include "config/documents/manifest.hpp"
#include "config/documents/node_pool.hpp"

namespace {

using muster::cluster::Error;
using muster::config::ManifestDocument;

void CheckError(const Error& error) {
  MUSTER_CHECK(!error.message.empty());
  MUSTER_CHECK(error.place.substr(0, 1) == "m");
  MUSTER_CHECK(error.ToString().find('\n') == std::string::npos);
}

// A pool of 100,000 nodes takes seconds under the sanitizers.
bool Small(const ManifestDocument& document) {
  const auto* spec = document.source().Find("spec");
  const auto* count = spec == nullptr ? nullptr : spec->Find("count");
  return count == nullptr || count->text.size() < 3;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto documents = muster::config::ParseManifests(text, "m");
  if (!documents.ok()) {
    CheckError(documents.error());
    return 0;
  }
  std::vector<ManifestDocument> small;
  for (const ManifestDocument& document : *documents) {
    // JSON is YAML; but for what JSON has no characters for in YAML, it reads back as it is.
    const auto again = muster::config::ParseManifests(document.json(), "m");
    if (again.ok()) {
      MUSTER_CHECK(again->size() == 1);
      MUSTER_CHECK(again->front().json() == document.json());
    }
    MUSTER_CHECK(document.LocationOf(text).substr(0, 2) == "m:");
    MUSTER_CHECK(document.LocationOf("spec.template.metadata.labels[x]").substr(0, 2) == "m:");
    if (Small(document)) small.push_back(document);
  }
  const auto nodes = muster::config::ExpandNodePools(small);
  if (!nodes.ok()) CheckError(nodes.error());
  return 0;
}
