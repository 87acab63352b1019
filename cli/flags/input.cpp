#include "cli/flags/input.hpp"

#include <iostream>
#include <iterator>

#include "config/file.hpp"

namespace muster::cli {

cluster::Result<std::string> ReadInput(const std::string& word, std::size_t max_bytes) {
  if (word != kStandardInput) return config::ReadFile(word, max_bytes);
  // Not as /dev/stdin: it cannot be opened where it is a socket.
  std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  if (text.size() <= max_bytes) return text;
  return cluster::Error{cluster::Code::kExhausted,
                        "expected at most " + std::to_string(max_bytes) + " bytes, found more",
                        InputName(word)};
}

std::string InputName(const std::string& word) { return word == kStandardInput ? "stdin" : word; }

}  // namespace muster::cli
