// What `muster get` prints of queues, and `muster explain` of a gang's queue: its turn, when it
// starts, and who makes way for it. Pure functions; an error means that the text is not what a
// muster server sends.
#pragma once

#include <rapidjson/fwd.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/tables/table.hpp"
#include "cluster/base/result.hpp"

namespace muster::cli {

// What each queue of the policy may have, has and wants; and what it borrows and lends. `width`:
// see Table::ToString.
cluster::Result<std::string> QueuesTable(std::string_view json, std::size_t width = 0);
cluster::Result<std::string> BorrowingTable(std::string_view json, std::size_t width = 0);

// Where it stands among those that wait, and when it is to start.
void AddTurn(const rapidjson::Value& gang, Table& facts);
// Who makes way for it, or made, by which right; and who does not, and why.
void AddPreemption(const rapidjson::Value& gang, Table& facts);

}  // namespace muster::cli
