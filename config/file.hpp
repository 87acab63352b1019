// ReadFile: a whole regular file, with a limit; CheckReadable: whether there is one. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "cluster/base/result.hpp"

namespace muster::config {

// kNotFound, kForbidden or kIo when it cannot be read (a directory is kIo); kExhausted when it is
// larger than `max_bytes`. Pipes and "/dev/stdin" are read to their end.
cluster::Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes);

// The error that ReadFile would give, without keeping what is read: for libraries that read files
// themselves and do not say why they could not.
cluster::Status CheckReadable(const std::string& path);

}  // namespace muster::config
