// muster get: lists of a running `muster serve`.
#include <string>

#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/server_pages.hpp"

namespace muster::cli {
namespace {

int Get(const Args& args, const CliStreams& streams) {
  if (args.positionals().size() != 1) {
    return Misused(streams, "get", "give one of gangs, nodes");
  }
  const std::string& what = args.positionals().front();
  if (what == "gangs") return ShowPage(args, streams, "get", "/v1/gangs", GangsTable);
  if (what == "nodes") return ShowPage(args, streams, "get", "/v1/nodes", NodesTable);
  return Misused(streams, "get", "\"" + what + "\" is unknown: give one of gangs, nodes");
}

}  // namespace

Command GetCommand() {
  return {"get", "gangs|nodes", "list gangs or nodes", {OutputFlag(), ServerFlag()}, Get};
}

}  // namespace muster::cli
