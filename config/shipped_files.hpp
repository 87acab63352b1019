// Files that are part of the binary; the build makes a source file of them
// (cmake/embed_files.cmake). Constants, any thread.
#pragma once

#include <span>
#include <string_view>

namespace muster::config {

struct ShippedFile {
  std::string_view name;  // without its folder
  std::string_view text;
};

// config/topologies/*.yaml, ordered by name.
std::span<const ShippedFile> ShippedTopologies();
// config/grouping/*.yaml, likewise.
std::span<const ShippedFile> ShippedGrouping();
// config/kubernetes/*.yaml, likewise.
std::span<const ShippedFile> ShippedKubernetes();

}  // namespace muster::config
