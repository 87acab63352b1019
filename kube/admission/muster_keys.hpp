// Which annotations and labels with muster.dev/ there are: of a key with that prefix that is not
// among them, Muster reads nothing. Pure, any thread.
#pragma once

#include <span>
#include <string_view>

namespace muster::kube {

inline constexpr std::string_view kMusterPrefix = "muster.dev/";

// What people write and what Muster writes.
std::span<const std::string_view> MusterKeys();

}  // namespace muster::kube
