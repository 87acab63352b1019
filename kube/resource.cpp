#include "kube/resource.hpp"

#include <utility>

#include "kube/decode.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

Result<Observed> ObserveNode(const JsonNode& object) {
  Result<DecodedNode> node = DecodeNode(object);
  if (!node.ok()) return node.error();
  return Observed{node->node.uid.text(), node->node.name, std::move(node->node)};
}

Result<Observed> ObservePod(const JsonNode& object) {
  Result<cluster::Pod> pod = DecodePod(object);
  if (!pod.ok()) return pod.error();
  return Observed{pod->uid.text(), pod->key.ToString(), *std::move(pod)};
}

}  // namespace

Resource NodeResource() {
  return {"nodes", "/api/v1/nodes", ObserveNode, [](const std::string& uid) -> engine::Fact {
            return engine::NodeRemoved{cluster::NodeUid(uid)};
          }};
}

Resource PodResource() {
  return {"pods", "/api/v1/pods", ObservePod, [](const std::string& uid) -> engine::Fact {
            return engine::PodRemoved{cluster::PodUid(uid)};
          }};
}

Resource PodGroupResource(const std::string& api_version) {
  const std::string group = api_version.substr(0, api_version.find('/'));
  return {"podgroups." + group, "/apis/" + api_version + "/podgroups",
          [api_version](const JsonNode& object) -> Result<Observed> {
            Result<cluster::PodGroup> decoded = DecodePodGroup(object, api_version);
            if (!decoded.ok()) return decoded.error();
            return Observed{decoded->uid.text(), decoded->key.ToString(), *std::move(decoded)};
          },
          [](const std::string& uid) -> engine::Fact {
            return engine::PodGroupRemoved{cluster::PodGroupUid(uid)};
          }};
}

}  // namespace muster::kube
