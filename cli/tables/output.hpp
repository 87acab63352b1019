// What `muster get` and `muster explain` print: tables for people, made from the JSON of the /v1
// pages.
//
// Pure functions; an error means that the text is not what a muster server sends.
#pragma once

#include <string>
#include <string_view>

#include "cluster/base/result.hpp"

namespace muster::cli {

cluster::Result<std::string> NodesTable(std::string_view json);
// The domains of the fabric, each below the one that it is in, and what is wrong with labels.
cluster::Result<std::string> FabricTable(std::string_view json);
// One gang: its state, why it waits, its members and their plan.
cluster::Result<std::string> GangExplained(std::string_view json);
// The message in an error answer {"error": …, "place": …}; empty: it is none.
std::string ServerMessage(std::string_view json);
// One line per object that a submission created.
cluster::Result<std::string> SubmittedLines(std::string_view json);
// One line for each thing that was ignored of them; empty: nothing was.
std::string SubmittedWarnings(std::string_view json);

}  // namespace muster::cli
