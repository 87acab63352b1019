// The pages of a running `muster serve`, as submit, get and explain ask for them. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.hpp"
#include "cli/output_format.hpp"
#include "cluster/ids.hpp"
#include "cluster/result.hpp"
#include "http/client.hpp"

namespace muster::cli {

// How to reach a server with TLS, and who asks: --ca, --cert, --key, --token-file.
std::vector<Flag> AccessFlags();
// These, and --server.
std::vector<Flag> WithAccess(std::vector<Flag> flags);
// --server and --namespace.
Flag ServerFlag();
Flag NamespaceFlag();

// NAMESPACE/NAME, or NAME in --namespace (default: "default").
cluster::Result<cluster::ObjectKey> GangNamed(const Args& args, const std::string& word);

// Where --server says, else $MUSTER_SERVER.
cluster::Result<http::ClientOptions> ServerAt(const Args& args);
// The answer's body, or an error that says what the server said.
cluster::Result<std::string> BodyOf(const cluster::Result<http::Reply>& reply,
                                    const http::ClientOptions& server);
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

}  // namespace muster::cli
