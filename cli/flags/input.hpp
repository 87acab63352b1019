// What a command reads: a file, or standard input where the word is "-". One thread.
#pragma once

#include <cstddef>
#include <string>

#include "cluster/base/result.hpp"

namespace muster::cli {

inline constexpr const char* kStandardInput = "-";

// As config::ReadFile.
cluster::Result<std::string> ReadInput(const std::string& word, std::size_t max_bytes);
// As messages call it: "stdin" or the file.
std::string InputName(const std::string& word);

}  // namespace muster::cli
