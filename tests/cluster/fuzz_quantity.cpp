// Quantities from arbitrary bytes: no crash, and what is accepted reads the same when written out
// and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "cluster/base/quantity.hpp"

namespace {

using muster::cluster::Round;

template <typename Parse>
void CheckRounded(std::string_view text, const char* unit, Parse parse) {
  const auto up = parse(text, Round::kUp);
  const auto down = parse(text, Round::kDown);
  // Rounded up it may just not fit any more.
  if (up.ok()) MUSTER_CHECK(down.ok());
  if (!down.ok()) return;
  const int64_t floor = down->value();
  MUSTER_CHECK(floor >= 0);
  const std::string written = std::to_string(floor) + unit;
  MUSTER_CHECK(parse(written, Round::kUp).value() == *down);
  MUSTER_CHECK(parse(written, Round::kDown).value() == *down);
  if (up.ok()) MUSTER_CHECK(up->value() == floor || up->value() == floor + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(data, data + size);
  CheckRounded(bytes, "m", muster::cluster::ParseCpu);
  CheckRounded(bytes, "Mi", muster::cluster::ParseMemory);
  const auto count = muster::cluster::ParseCount(bytes);
  if (count.ok()) {
    MUSTER_CHECK(muster::cluster::ParseCount(std::to_string(*count)).value() == *count);
    // A whole number of cores is the same number for both roundings.
    const auto up = muster::cluster::ParseCpu(bytes, Round::kUp);
    if (up.ok()) MUSTER_CHECK(up->value() == *count * 1000);
  }
  const auto share = muster::cluster::ParseGpuShare(bytes);
  if (share.ok()) {
    const std::string written = std::to_string(share->value()) + "m";
    MUSTER_CHECK(muster::cluster::ParseGpuShare(written).value() == *share);
    MUSTER_CHECK(muster::cluster::ParseCpu(bytes, Round::kUp)->value() == share->value());
  }
  return 0;
}
