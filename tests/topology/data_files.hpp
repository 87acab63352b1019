// Outputs of real machines, which people pasted somewhere. They are no part of the project: where
// they are absent, tests that need them say so and pass.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

#include "topology/links/machine.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::topology::testing {

inline std::string DataFolder() {
  const char* set = std::getenv("MUSTER_DATA_DIR");
  const std::string data =
      set != nullptr ? set : std::string(MUSTER_SOURCE_DIR) + "/../shared/data";
  return data + "/topo";
}

// The text of FILE.txt; nothing, with a line on the output that says so, when it is absent.
inline std::optional<std::string> ReadDataFile(const std::string& file) {
  std::ifstream in(DataFolder() + "/" + file + ".txt", std::ios::binary);
  if (!in) {
    std::cout << "skipped: " << file
              << ".txt is not there; set MUSTER_DATA_DIR to the folder that holds topo/\n";
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
