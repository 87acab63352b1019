// Kubernetes timestamps: RFC 3339 text such as "2024-05-01T09:30:00Z" <-> milliseconds since 1970.
#pragma once

#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"

namespace muster::kube {

// Fractions of a second (cut to milliseconds) and offsets from UTC are understood; years 1 to 9999.
cluster::Result<cluster::Time> ParseTimestamp(std::string_view text);

// In UTC; milliseconds are written only when there are some. Times outside years 1 to 9999 become
// the first or last moment of them.
std::string FormatTimestamp(cluster::Time time);
// The same without fractions (metav1.Time), and always with six digits of them (metav1.MicroTime).
std::string FormatSeconds(cluster::Time time);
std::string FormatMicroTime(cluster::Time time);

}  // namespace muster::kube
