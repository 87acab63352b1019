// Kubernetes quantities, parsed exactly. Grammar and meaning are those of apimachinery's Quantity:
//
//   <sign>? <digits and at most one point> <suffix>,  suffix one of
//     Ki Mi Gi Ti Pi Ei          powers of 1024
//     n u m (none) k M G T P E   powers of 1000
//     e<int> E<int>              powers of 10
//
// "1E" is 10^18 and "1E3" is 1000. No binary floating point is involved: 0.1 is one tenth.
// Negative amounts, amounts that do not fit and anything left over after the suffix are refused.
#pragma once

#include <cstdint>
#include <string_view>

#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"

namespace muster::cluster {

// Requests are rounded up (a pod never gets less than it asked for), what a node offers is rounded
// down.
enum class Round { kUp, kDown };

Result<MilliCpu> ParseCpu(std::string_view text, Round round);
Result<MiB> ParseMemory(std::string_view text, Round round);
// For whole things (GPUs, pod slots): "2", "2k", "1e1"; "1500m" is refused because it is no whole
// number.
Result<int64_t> ParseCount(std::string_view text);
// For shares of a device such as "0.46" or "1": thousandths; finer fractions are refused.
Result<GpuMilli> ParseGpuShare(std::string_view text);

}  // namespace muster::cluster
