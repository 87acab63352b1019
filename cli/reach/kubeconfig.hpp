// Which cluster a command talks to, as kubectl finds it. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/args.hpp"
#include "cluster/base/result.hpp"
#include "kube/api/client_config.hpp"

namespace muster::cli {

// A variable of the environment; empty: it is not set.
std::string Variable(const char* name);

// --kubeconfig and --context, after `flags`.
std::vector<Flag> WithCluster(std::vector<Flag> flags);

// What --kubeconfig says, else those of $KUBECONFIG that are there (its first if none is), else
// ~/.kube/config if it is there; empty: none is there.
std::vector<std::string> KubeconfigFiles(const Args& args);

// The cluster of those files and of --context; without a file that of the pod that this runs in.
// Reads files, runs the program that a kubeconfig names for credentials, calls nobody.
cluster::Result<kube::ClientConfig> ReadCluster(const Args& args);

}  // namespace muster::cli
