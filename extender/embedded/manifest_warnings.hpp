// What Muster ignores of an object that it takes, with its place. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/records/pod_group.hpp"
#include "config/documents/manifest.hpp"

namespace muster::extender {

// At most so many of one text are told; nodes of a pool have the same fault.
inline constexpr std::size_t kMostWarnings = 20;

// "nodes.yaml:7:5: metadata.annotations["muster.dev/gpu-devices"]: Node n0: annotation ignored: …".
// `object` is the one at `path` of the document ("items[2]"; empty: all of it), `warning` what its
// decoder says: the field is the one that it begins with ("Node.spec…: …"), or the annotation or
// label that it names; else the place is that of the object.
std::string LocatedWarning(const config::ManifestDocument& document, const config::YamlNode& object,
                           const std::string& path, const std::string& warning);

// Of the fields of the PodGroup (or PodGang: `kind`) that Muster does not honour.
void WarnOfUnheeded(const cluster::PodGroup& group, const std::string& kind,
                    std::vector<std::string>& warnings);

// Instead of those beyond kMostWarnings how many they are.
void CutWarnings(std::vector<std::string>& warnings);

}  // namespace muster::extender
