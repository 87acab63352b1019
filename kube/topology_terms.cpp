#include "kube/topology_terms.hpp"

#include <string>

#include "kube/decode.hpp"

namespace muster::kube {

namespace {

// No level has so long a name, also not by TREE/LEVEL or its label key.
constexpr size_t kMaxLevelName = 400;

}  // namespace

cluster::TopologyTerms ReadTopologyTerms(const JsonView& annotations) {
  const auto read = [&](const char* key) {
    return std::string(annotations.Get(key).Text().substr(0, kMaxLevelName));
  };
  return {read(cluster::kTopologyRequiredAnnotation), read(cluster::kTopologyPreferredAnnotation)};
}

}  // namespace muster::kube
