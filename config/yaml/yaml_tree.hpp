// YamlNode: a YAML document as a tree of plain values, each with its place in the file.
// Values, immutable once built; threads share them as they share a const string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/yaml/yaml_text.hpp"

namespace muster::config {

struct YamlEntry;

struct YamlNode {
  enum class Kind {
    kNull,   // nothing, "~" or "null", without quotes
    kPlain,  // a scalar without quotes: the reader decides whether it is a number
    kText,   // a scalar in quotes or a block ("|", ">"): text whatever it looks like
    kSequence,
    kMap,
  };
  Kind kind = Kind::kNull;
  Mark mark;
  std::string text;                // of kPlain and kText
  std::vector<YamlNode> items;     // of kSequence
  std::vector<YamlEntry> entries;  // of kMap, in the order of the file

  bool scalar() const { return kind == Kind::kPlain || kind == Kind::kText; }
  // The first of this key; null when there is none or this is no map.
  const YamlNode* Find(std::string_view key) const;
  // The text of that entry; empty: there is none, or it is no scalar.
  std::string TextAt(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Mark mark;
  YamlNode value;
  // Of a key that the map has already: the line of the first. 0: the first. See YamlRules.
  int64_t first_line = 0;
};

// What was found instead, for messages: "a map", "a list", "nothing", "12" with its quotes.
std::string Describe(const YamlNode& node);

}  // namespace muster::config
