// What `muster explain` prints of a gang's queue: its turn, when it starts, and who makes way for
// it. The tables of queues are in output.hpp. Pure functions.
#pragma once

#include <rapidjson/fwd.h>

#include "cli/table.hpp"

namespace muster::cli {

// Where it stands among those that wait, and when it is to start.
void AddTurn(const rapidjson::Value& gang, Table& facts);
// Who makes way for it, or made, by which right; and who does not, and why.
void AddPreemption(const rapidjson::Value& gang, Table& facts);

}  // namespace muster::cli
