// The forms in which a command prints what it has as JSON: -o. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "cli/flags/args.hpp"
#include "cluster/base/result.hpp"

namespace muster::cli {

enum class OutputFormat {
  kTable,  // cut to the terminal's width
  kWide,   // a table that is not cut, with all columns
  kJson,
  kYaml,
};

Flag OutputFlag();
// What --output says; an error when that is no form.
cluster::Result<OutputFormat> FormatOf(const Args& args);
// For kJson and kYaml: `json` in that form.
std::string InFormat(OutputFormat format, std::string_view json);

// The same values as YAML; text that is no JSON comes back as it is.
std::string YamlOf(std::string_view json);

}  // namespace muster::cli
