// muster explain: why a gang waits.
#include <string>
#include <vector>

#include "cli/flags/cli.hpp"
#include "cli/flags/nearest.hpp"
#include "cli/reach/reach.hpp"
#include "cli/reach/server_pages.hpp"
#include "cli/tables/output.hpp"

namespace muster::cli {
namespace {

int Explain(const Args& args, const CliStreams& streams) {
  const std::vector<std::string>& words = args.positionals();
  const bool of_gang = !words.empty() && (words[0] == "gang" || words[0] == "gangs");
  if (words.size() != 2 || !of_gang) {
    const std::string near =
        words.empty() || of_gang ? std::string() : DidYouMean(words[0], {"gang"});
    return Misused(streams, "explain", "give \"gang NAMESPACE/NAME\"" + near);
  }
  const cluster::Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, "explain", format.error().message);
  const auto muster = ReachMuster(args, streams);
  if (!muster.ok()) return Misused(streams, "explain", muster.error().ToString());
  const cluster::Result<cluster::ObjectKey> gang =
      GangNamed(args, words[1], (*muster)->default_namespace());
  if (!gang.ok()) return Misused(streams, "explain", gang.error().message);
  return ShowPageOf(**muster, *format, streams, "/v1/gangs/" + gang->ToString(),
                    Narrow(GangExplained));
}

}  // namespace

Command ExplainCommand() {
  return {"explain",
          "gang NAMESPACE/NAME",
          "show why a gang waits, and where it is planned or runs",
          WithAccess({NamespaceFlag(), OutputFlag()}),
          Explain,
          {"muster explain gang team/train", "muster explain gang train -n team -o json"}};
}

}  // namespace muster::cli
