// Any bytes: pods, PodGroups, Jobs and lists decode or are refused; a pod that decodes survives a
// round trip.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace kube = muster::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const kube::Source source : {kube::Source::kApiServer, kube::Source::kManifest}) {
    kube::DecodeOptions options;
    options.source = source;
    static_cast<void>(kube::DecodeObjects(text, options));
    static_cast<void>(kube::DecodePodGroup(text, options));
    const auto pod = kube::DecodePod(text, options);
    if (!pod.ok()) continue;
    const std::string once = kube::EncodePod(*pod);
    const auto again = kube::DecodePod(once, options);
    MUSTER_CHECK(again.ok());
    MUSTER_CHECK(kube::EncodePod(*again) == once);
  }
  return 0;
}
