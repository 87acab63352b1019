// Files of fields: a table of fields (fields.hpp) read from YAML text, written as YAML text,
// listed. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/fields/fields.hpp"

namespace muster::config {

struct FieldFile {
  std::string_view what;  // "a policy (…)"
  FieldTable fields;
  // Asked when every field is right by itself.
  std::function<std::vector<Contradiction>()> contradictions = [] {
    return std::vector<Contradiction>{};
  };
  std::vector<std::string>* notes = nullptr;  // for doubts; null: there are none
  std::size_t max_bytes = std::size_t{1} << 20U;
};

// Fills the table's values from one YAML document. Returns all that is wrong with the text, in its
// order; the values count only when that is nothing. Beyond kMostFaults the last one says how many
// more there are. A text that is no YAML has one fault: nobody knows what comes after it.
std::vector<cluster::Error> ReadFields(std::string_view text, const std::string& file_name,
                                       const FieldFile& file);

// kCommented also says what each field means, and shows an element of each list and each kind of
// free name in comments.
enum class FieldText { kPlain, kCommented };
std::string WriteFields(const FieldTable& fields, FieldText style);

}  // namespace muster::config
