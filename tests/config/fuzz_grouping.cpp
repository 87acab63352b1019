// libFuzzer: any text is grouping rules that survive writing and reading, or faults with their
// places. The same text is read as a path, an amount and a condition.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cluster/base/check.hpp"
#include "config/fields/field_file.hpp"
#include "config/policies/grouping_file.hpp"
#include "config/policies/grouping_text.hpp"

namespace {

using namespace muster::config;  // NOLINT(google-build-using-namespace)

void TryFile(const std::string& text) {
  const GroupingReading read = ReadGroupingRules(text, "g");
  MUSTER_CHECK(read.faults.size() <= kMostFaults + 1);
  for (const muster::cluster::Error& fault : read.faults) {
    MUSTER_CHECK(!fault.message.empty());
    MUSTER_CHECK(fault.place.substr(0, 1) == "g");
    MUSTER_CHECK(fault.ToString().find('\n') == std::string::npos);
  }
  if (!read.ok()) return;
  const GroupingReading again = ReadGroupingRules(WriteGroupingRules(read.rules), "g");
  MUSTER_CHECK(again.ok());
  MUSTER_CHECK(again.rules == read.rules);
}

void TryTexts(const std::string& text) {
  if (const auto path = ParseGroupingPath(text); path.ok()) {
    const auto again = ParseGroupingPath(FormatGroupingPath(*path));
    MUSTER_CHECK(again.ok() && *again == *path);
  }
  if (const auto amount = ParseGroupingAmount(text); amount.ok()) {
    const auto again = ParseGroupingAmount(FormatGroupingAmount(*amount));
    MUSTER_CHECK(again.ok() && *again == *amount);
  }
  if (const auto condition = ParseGroupingCondition(text); condition.ok()) {
    const auto again = ParseGroupingCondition(FormatGroupingCondition(*condition));
    MUSTER_CHECK(again.ok() && *again == *condition);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  TryFile(text);
  TryTexts(text);
  return 0;
}
