// Lines: the text of one chunk by lines; turns yaml-cpp's marks (from 0, in bytes) into ours.
//
// Owner: ParseYaml, for one chunk, which outlives it. Internal to config/; immutable.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/yaml/yaml_text.hpp"

namespace YAML {  // NOLINT(readability-identifier-naming): theirs
struct Mark;
}

namespace muster::config {

class Lines {
 public:
  Lines(const Chunk& chunk, const std::string& file_name);

  std::string_view text() const { return chunk_.text; }
  std::size_t Offset(const YAML::Mark& mark) const;
  // '\0' at the end of the text.
  char CharacterAt(const YAML::Mark& mark) const;
  // What is on the line before the mark.
  std::string_view Before(const YAML::Mark& mark) const;
  Mark ToMark(const YAML::Mark& mark) const;
  // Where the first line begins that has more than comments and document markers.
  std::optional<YAML::Mark> FirstText() const;
  cluster::Error Refused(const YAML::Mark& mark, std::string message,
                         cluster::Code code = cluster::Code::kInvalidArgument) const;

 private:
  std::size_t LineStart(const YAML::Mark& mark) const;
  std::size_t CharactersBefore(std::size_t offset) const;

  const Chunk& chunk_;
  const std::string& file_name_;
  std::vector<std::size_t> starts_;      // offsets of the lines
  std::vector<std::size_t> characters_;  // before every so many bytes, for long lines
};

}  // namespace muster::config
