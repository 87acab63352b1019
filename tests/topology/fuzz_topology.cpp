// libFuzzer: any text is a machine that can be written and read again, or one error with its place.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cluster/base/check.hpp"
#include "topology/links/machine.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace {

using muster::topology::Machine;

void CheckLinks(const Machine& machine) {
  MUSTER_CHECK(machine.cells.size() == machine.devices() * machine.devices());
  for (size_t a = 0; a < machine.devices(); ++a) {
    for (size_t b = 0; b < machine.devices(); ++b) {
      MUSTER_CHECK(machine.At(a, b).link == machine.At(b, a).link);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto machine = muster::topology::ParseMachine(text, "t");
  if (!machine.ok()) {
    MUSTER_CHECK(!machine.error().message.empty());
    MUSTER_CHECK(machine.error().place.substr(0, 1) == "t");
    MUSTER_CHECK(machine.error().ToString().find('\n') == std::string::npos);
    return 0;
  }
  MUSTER_CHECK(machine->gpus.size() <= muster::topology::kMostGpus);
  if (!machine->has_links()) return 0;
  CheckLinks(*machine);
  const auto again = muster::topology::ParseMachine(WriteMachine(*machine), "w");
  MUSTER_CHECK(again.ok());
  MUSTER_CHECK(again->cells == machine->cells);
  MUSTER_CHECK(again->nics.size() == machine->nics.size());
  for (size_t i = 0; i < machine->nics.size(); ++i)
    MUSTER_CHECK(again->nics[i].name == machine->nics[i].name);
  return 0;
}
