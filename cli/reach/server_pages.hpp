// The pages of a running Muster, as get, explain and others ask for them and show them. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/cli.hpp"
#include "cli/reach/muster_caller.hpp"
#include "cli/tables/output_format.hpp"
#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"

namespace muster::cli {

Flag NamespaceFlag();

// Names of objects have no other characters.
bool IsPathText(const std::string& text);

// NAMESPACE/NAME, or NAME in --namespace (default: `otherwise`).
cluster::Result<cluster::ObjectKey> GangNamed(const Args& args, const std::string& word,
                                              const std::string& otherwise);

// An answer's JSON as a table; `width` of a line, 0: no limit.
using PageTable =
    std::function<cluster::Result<std::string>(std::string_view json, std::size_t width)>;
// One that is narrow whatever is in it.
inline PageTable Narrow(cluster::Result<std::string> (*table)(std::string_view json)) {
  return [table](std::string_view json, std::size_t) { return table(json); };
}
// Prints an answer's body in its form.
int Show(const CliStreams& streams, OutputFormat format, const std::string& body,
         const PageTable& table);
// Gets `path` and shows it as --output says.
int ShowPage(const Args& args, const CliStreams& streams, const std::string& command,
             const std::string& path, const PageTable& table);
// The same, of a Muster that was reached.
int ShowPageOf(MusterCaller& muster, OutputFormat format, const CliStreams& streams,
               const std::string& path, const PageTable& table);

}  // namespace muster::cli
