// The pages of a running `muster serve`, as submit, get and explain ask for them. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.hpp"
#include "cluster/ids.hpp"
#include "cluster/result.hpp"
#include "http/client.hpp"

namespace muster::cli {

// How to reach a server with TLS, and who asks: --ca, --cert, --key, --token-file.
std::vector<Flag> AccessFlags();
// These, and --server.
std::vector<Flag> WithAccess(std::vector<Flag> flags);
// --server, --output and --namespace.
Flag ServerFlag();
Flag OutputFlag();
Flag NamespaceFlag();

// NAMESPACE/NAME, or NAME in --namespace (default: "default").
cluster::Result<cluster::ObjectKey> GangNamed(const Args& args, const std::string& word);

// Where --server says, else $MUSTER_SERVER.
cluster::Result<http::ClientOptions> ServerAt(const Args& args);
// The answer's body, or an error that says what the server said.
cluster::Result<std::string> BodyOf(const cluster::Result<http::Reply>& reply,
                                    const http::ClientOptions& server);
// Gets `path` and prints it as JSON or through `table`.
int ShowPage(const Args& args, const CliStreams& streams, const std::string& command,
             const std::string& path, cluster::Result<std::string> (*table)(std::string_view));

}  // namespace muster::cli
