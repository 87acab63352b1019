// ComputeDomain of resource.nvidia.com v1beta1: the ResourceClaimTemplate that the driver makes for
// it, in its namespace and under the name that it gives. A claim of that template is for a channel,
// whatever the allocationMode: a node has its channels for one pod.
#include <string>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Result;

Result<DecodedComputeDomain> DecodeComputeDomain(const JsonNode& json,
                                                 const DecodeOptions& options) {
  JsonProblems problems;
  const JsonView object(json, "ComputeDomain", problems);
  const ObjectMeta meta =
      ReadObjectMeta(object, "ComputeDomain", Scope::kNamespace, options.source);
  const JsonView spec = object.Get("spec");
  const JsonView channel = spec.Get("channel");
  const JsonView made = channel.Get("resourceClaimTemplate");
  DecodedComputeDomain decoded;
  decoded.key = meta.key;
  decoded.domain.uid = meta.uid;
  decoded.domain.claim_template = {meta.key.ns, std::string(made.Get("name").Text())};
  if (!problems.none()) return problems.first();
  return decoded;
}

std::vector<std::string> ReadClaimTemplates(const JsonNode& pod) {
  JsonProblems problems;  // of what says nothing of templates; the pod's decoder has said the rest
  const JsonView object(pod, "Pod", problems);
  const JsonView metadata = object.Get("metadata");
  const JsonView annotations = metadata.Get("annotations");
  std::vector<std::string> templates;
  if (annotations.Get(kComputeDomainAnnotation).present()) return templates;
  const JsonView spec = object.Get("spec");
  const JsonView claims = spec.Get("resourceClaims");
  claims.Items([&](const JsonView& claim) {
    const JsonView name = claim.Get("resourceClaimTemplateName");
    if (!name.Text().empty()) templates.emplace_back(name.Text());
  });
  return templates;
}

std::vector<std::string> ReadClaimTemplates(std::string_view pod) {
  const Result<KeptObject> kept = KeptObject::Read(pod, PodFields(), "Pod", {});
  if (!kept.ok()) return {};
  return ReadClaimTemplates(kept->node());
}

}  // namespace muster::kube
