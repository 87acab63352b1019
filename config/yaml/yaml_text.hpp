// The text of a YAML file before it is parsed: what may be in it, and where its documents begin.
//
// yaml-cpp guesses encodings, accepts control characters and drops what follows a line that begins
// with '%'; so text is checked here first. Pure functions, any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::config {

// A place in a file as editors count: both from 1, columns in characters.
struct Mark {
  int64_t line = 1;
  int64_t column = 1;
  auto operator<=>(const Mark&) const = default;
};

// "file:line:column", the place of every error about a file.
std::string At(const std::string& file_name, Mark mark);

// The text without a byte order mark and with plain line feeds. Refused: more than `max_bytes`,
// what is not UTF-8, control characters, directives (lines that begin with '%').
cluster::Result<std::string> CleanText(std::string_view text, const std::string& file_name,
                                       std::size_t max_bytes);

// One document of a clean text: the lines from one "---" to the next, the marker included.
struct Chunk {
  std::string_view text;
  int64_t first_line = 1;
};
std::vector<Chunk> SplitDocuments(std::string_view clean_text);

bool IsUtf8(std::string_view text);
// UTF-8 of one line that can stand in a YAML file as it is, tabs not counted.
bool IsPrintableLine(std::string_view text);

// At most 60 characters of `text` in double quotes, on one line, for messages.
std::string Quoted(std::string_view text);

}  // namespace muster::config
