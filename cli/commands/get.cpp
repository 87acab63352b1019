// muster get: lists of a running `muster serve`.
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "cli/flags/cli.hpp"
#include "cli/flags/nearest.hpp"
#include "cli/reach/reach.hpp"
#include "cli/reach/server_pages.hpp"
#include "cli/tables/gang_rows.hpp"
#include "cli/tables/output.hpp"
#include "cli/tables/queue_output.hpp"
#include "http/messages/url.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Result;

constexpr std::chrono::seconds kWatchEvery{1};
constexpr int64_t kMostGpus = 1'000'000;  // of one gang
constexpr const char* kWhat = "gangs, nodes, queues, topology";

// One word per list, whether people say "gang" or "gangs".
std::string InPlural(const std::string& word) {
  return word == "gang" || word == "node" || word == "queue" ? word + "s" : word;
}

// Until it is interrupted. Once there was an answer, a Muster that is away is waited for: it
// restarts, or another replica leads.
int WatchGangs(MusterCaller& muster, const std::string& path, GangRows rows,
               const CliStreams& streams) {
  bool answered = false;
  bool away = false;
  for (; streams.out.good(); std::this_thread::sleep_for(kWatchEvery)) {
    const Result<std::string> body = muster.Get(path);
    if (!body.ok()) {
      if (!answered || body.error().code != Code::kUnavailable)
        return Fail(streams, body.error().message);
      if (!away)
        streams.err << streams.program << ": " << body.error().message << "; trying again\n";
      away = true;
      continue;
    }
    if (away) streams.err << streams.program << ": it answers again\n";
    answered = true;
    away = false;
    const Result<std::string> text = rows.Update(*body);
    if (!text.ok()) return Fail(streams, text.error().message);
    streams.out << *text << std::flush;
  }
  return kExitFailed;
}

int GetGangs(const Args& args, const CliStreams& streams) {
  std::string ns = args.Text("--namespace");
  if (args.Has("--namespace") && args.Has("--all-namespaces"))
    return Misused(streams, "get", "--namespace and --all-namespaces do not go together");
  if (args.Has("--namespace") && (ns.empty() || !http::IsUnreserved(ns)))
    return Misused(streams, "get", "\"" + ns + "\" is no namespace");
  const Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, "get", format.error().message);
  const bool wide = *format == OutputFormat::kWide;
  const bool watch = args.Has("--watch");
  if (watch && !wide && *format != OutputFormat::kTable)
    return Misused(streams, "get",
                   "--watch is for tables, not for --output " + args.Text("--output"));
  const auto muster = ReachMuster(args, streams);
  if (!muster.ok()) return Misused(streams, "get", muster.error().ToString());
  // Under kubectl one namespace is the default, as of every list there.
  if (ns.empty() && streams.program == kPlugin && !args.Has("--all-namespaces"))
    ns = (*muster)->default_namespace();
  const std::string path = ns.empty() ? "/v1/gangs" : "/v1/gangs?namespace=" + ns;
  if (watch)
    return WatchGangs(**muster, path, GangRows(wide, wide ? 0 : streams.width, streams.colours),
                      streams);
  return ShowPageOf(**muster, *format, streams, path,
                    [wide, &streams](std::string_view json, std::size_t width) {
                      return GangsTable(json, wide, width, streams.colours);
                    });
}

int Get(const Args& args, const CliStreams& streams) {
  if (args.positionals().size() != 1) {
    return Misused(streams, "get", std::string("give one of ") + kWhat);
  }
  const std::string what = InPlural(args.positionals().front());
  for (const char* flag : {"--namespace", "--all-namespaces", "--watch"}) {
    if (args.Has(flag) && what != "gangs")
      return Misused(streams, "get", std::string(flag) + " is for gangs, not for \"" + what + "\"");
  }
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
  if (what == "gangs") return GetGangs(args, streams);
  if (what == "nodes") return ShowPage(args, streams, "get", "/v1/nodes", Narrow(NodesTable));
  if (what == "topology") {
    const Result<int64_t> slots = args.Number("--slots", 8, 1, kMostGpus);
    if (!slots.ok()) return Misused(streams, "get", slots.error().ToString());
    return ShowPage(args, streams, "get", "/v1/topology?slots=" + std::to_string(*slots),
                    Narrow(FabricTable));
  }
  return Misused(streams, "get",
                 "\"" + what + "\" is unknown: give one of " + kWhat +
                     DidYouMean(what, {"gangs", "nodes", "queues", "topology"}));
}

}  // namespace

Command GetCommand() {
  return {
      "get",
      "gangs|nodes|queues|topology",
      "list gangs, nodes, queues, or the domains of the fabric",
      WithAccess({{"--slots", "GPUS",
                   "with topology: how many gangs of so many GPUs fit in each domain (default 8)"},
                  {"--borrowing", "", "with queues: what each borrows, lends and keeps"},
                  {"--namespace", "NS", "with gangs: those of this namespace only", "-n"},
                  {"--all-namespaces", "",
                   "with gangs: those of all namespaces (default; not under kubectl)", "-A"},
                  {"--watch", "", "with gangs: go on with the rows that change, until ^C", "-w"},
                  OutputFlag()}),
      Get,
      {"muster get gangs -n team", "muster get gangs -w -o wide", "muster get queues --borrowing",
       "muster get topology --slots 16"}};
}

}  // namespace muster::cli
