// What a table of fields (fields.hpp) has. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "config/fields/fields.hpp"

namespace muster::config {

// "gangs.backoff.first", "queues[].name", "limits.*", …: every field and section, in the order of
// the file; where a table holds itself, once.
std::vector<std::string> ListFields(const FieldTable& fields);

}  // namespace muster::config
