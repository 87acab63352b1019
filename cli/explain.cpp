// muster explain: why a gang waits.
#include <cstddef>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/server_pages.hpp"
#include "http/url.hpp"

namespace muster::cli {
namespace {

// Names of objects have no other characters.
bool IsPathText(const std::string& text) { return !text.empty() && http::IsUnreserved(text); }

int Explain(const Args& args, const CliStreams& streams) {
  const std::vector<std::string>& words = args.positionals();
  if (words.size() != 2 || words[0] != "gang") {
    return Misused(streams, "explain", "give \"gang NAMESPACE/NAME\"");
  }
  const std::size_t slash = words[1].find('/');
  const std::string ns = slash == std::string::npos ? "default" : words[1].substr(0, slash);
  const std::string name = slash == std::string::npos ? words[1] : words[1].substr(slash + 1);
  if (!IsPathText(ns) || !IsPathText(name)) {
    return Misused(streams, "explain", "\"" + words[1] + "\" is no NAMESPACE/NAME");
  }
  return ShowPage(args, streams, "explain", "/v1/gangs/" + ns + "/" + name, GangExplained);
}

}  // namespace

Command ExplainCommand() {
  return {"explain", "gang NAMESPACE/NAME",
          "show why a gang waits, and where it is planned or runs", WithAccess({OutputFlag()}),
          Explain};
}

}  // namespace muster::cli
