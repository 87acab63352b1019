#include "config/yaml/yaml_lines.hpp"

#include <yaml-cpp/mark.h>

#include <algorithm>
#include <utility>

namespace muster::config {

namespace {

constexpr std::size_t kStride = 64;

bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

Lines::Lines(const Chunk& chunk, const std::string& file_name)
    : chunk_(chunk), file_name_(file_name) {
  starts_.push_back(0);
  std::size_t characters = 0;
  for (std::size_t at = 0; at < chunk.text.size(); ++at) {
    if (at % kStride == 0) characters_.push_back(characters);
    characters += BeginsCharacter(chunk.text[at]) ? std::size_t{1} : std::size_t{0};
    if (chunk.text[at] == '\n') starts_.push_back(at + 1);
  }
  characters_.push_back(characters);  // for the end, where that is a multiple of the stride
}

std::size_t Lines::CharactersBefore(std::size_t offset) const {
  const std::size_t counted = offset / kStride;
  const std::string_view rest = chunk_.text.substr(counted * kStride, offset % kStride);
  return characters_[counted] +
         static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), BeginsCharacter));
}

std::size_t Lines::LineStart(const YAML::Mark& mark) const {
  const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
  return line < starts_.size() ? starts_[line] : chunk_.text.size();
}

std::size_t Lines::Offset(const YAML::Mark& mark) const {
  return std::min(LineStart(mark) + static_cast<std::size_t>(std::max(mark.column, 0)),
                  chunk_.text.size());
}

char Lines::CharacterAt(const YAML::Mark& mark) const {
  const std::size_t offset = Offset(mark);
  return offset < chunk_.text.size() ? chunk_.text[offset] : '\0';
}

std::string_view Lines::Before(const YAML::Mark& mark) const {
  const std::size_t start = LineStart(mark);
  return chunk_.text.substr(start, Offset(mark) - start);
}

Mark Lines::ToMark(const YAML::Mark& mark) const {
  const std::size_t before = CharactersBefore(Offset(mark)) - CharactersBefore(LineStart(mark));
  return {chunk_.first_line + std::max(mark.line, 0), 1 + static_cast<std::ptrdiff_t>(before)};
}

std::optional<YAML::Mark> Lines::FirstText() const {
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    std::string_view line = chunk_.text.substr(starts_[i]);
    line = line.substr(0, line.find('\n'));
    if (line.substr(0, 3) == "---" || line.substr(0, 3) == "...") line.remove_prefix(3);
    const std::size_t text = line.find_first_not_of(" \t");
    if (text == std::string_view::npos || line[text] == '#') continue;
    YAML::Mark mark;
    mark.line = static_cast<int>(i);
    mark.column = static_cast<int>(static_cast<std::size_t>(line.data() - chunk_.text.data()) +
                                   text - starts_[i]);
    return mark;
  }
  return std::nullopt;
}

cluster::Error Lines::Refused(const YAML::Mark& mark, std::string message,
                              cluster::Code code) const {
  return cluster::Error{code, std::move(message), At(file_name_, ToMark(mark))};
}

}  // namespace muster::config
