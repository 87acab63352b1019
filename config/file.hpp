// ReadFile: a whole regular file, with a limit. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "cluster/result.hpp"

namespace muster::config {

// kNotFound, kForbidden or kIo when it cannot be read (a directory is kIo); kExhausted when it is
// larger than `max_bytes`. Pipes and "/dev/stdin" are read to their end.
cluster::Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes);

}  // namespace muster::config
