// ReadCredentialFile: certificates, keys and tokens, whole. Any thread.
#pragma once

#include <string>

#include "cluster/base/result.hpp"

namespace muster::http {

// At most 4 MiB: a bundle of CAs is 200 KiB.
//   kNotFound, kForbidden, kIo   it cannot be read; a directory is kIo
//   kExhausted                   it is larger
cluster::Result<std::string> ReadCredentialFile(const std::string& path);

}  // namespace muster::http
