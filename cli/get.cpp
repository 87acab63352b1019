// muster get: lists of a running `muster serve`.
#include <cstdint>
#include <string>

#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/server_pages.hpp"

namespace muster::cli {
namespace {

constexpr int64_t kMostGpus = 1'000'000;  // of one gang
constexpr const char* kWhat = "gangs, nodes, queues, topology";

int Get(const Args& args, const CliStreams& streams) {
  if (args.positionals().size() != 1) {
    return Misused(streams, "get", std::string("give one of ") + kWhat);
  }
  const std::string& what = args.positionals().front();
  if (args.Has("--slots") && what != "topology") {
    return Misused(streams, "get", "--slots is for topology, not for \"" + what + "\"");
  }
  if (args.Has("--borrowing") && what != "queues") {
    return Misused(streams, "get", "--borrowing is for queues, not for \"" + what + "\"");
  }
  if (what == "queues") {
    return ShowPage(args, streams, "get", "/v1/queues",
                    args.Has("--borrowing") ? BorrowingTable : QueuesTable);
  }
  if (what == "gangs") return ShowPage(args, streams, "get", "/v1/gangs", GangsTable);
  if (what == "nodes") return ShowPage(args, streams, "get", "/v1/nodes", NodesTable);
  if (what == "topology") {
    const cluster::Result<int64_t> slots = args.Number("--slots", 8, 1, kMostGpus);
    if (!slots.ok()) return Misused(streams, "get", slots.error().ToString());
    return ShowPage(args, streams, "get", "/v1/topology?slots=" + std::to_string(*slots),
                    FabricTable);
  }
  return Misused(streams, "get", "\"" + what + "\" is unknown: give one of " + kWhat);
}

}  // namespace

Command GetCommand() {
  return {
      "get", "gangs|nodes|queues|topology",
      "list gangs, nodes, queues, or the domains of the fabric",
      WithAccess({{"--slots", "GPUS",
                   "with topology: how many gangs of so many GPUs fit in each domain (default 8)"},
                  {"--borrowing", "", "with queues: what each borrows, lends and keeps"},
                  OutputFlag()}),
      Get};
}

}  // namespace muster::cli
