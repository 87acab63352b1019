// The outputs of real machines in ../shared/data/topo (its README.md says what each holds). They
// are no part of the project: where they are absent, tests that need them say so and pass.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "topology/machine.hpp"

namespace muster::topology::testing {

inline std::string DataFolder() {
  const char* folder = std::getenv("MUSTER_TOPO_DATA");
  return folder == nullptr ? "/work/shared/data/topo" : folder;
}

// The text of FILE.txt; nothing, with a warning, when it is absent.
inline std::optional<std::string> ReadDataFile(const std::string& file) {
  std::ifstream in(DataFolder() + "/" + file + ".txt", std::ios::binary);
  if (!in) {
    WARN("SKIPPED: " << DataFolder() << "/" << file << ".txt is absent (MUSTER_TOPO_DATA)");
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline Machine Parsed(const std::string& text) {
  const auto machine = ParseMachine(text, "t");
  INFO((machine.ok() ? "" : machine.error().ToString()));
  REQUIRE(machine.ok());
  return *machine;
}

}  // namespace muster::topology::testing
