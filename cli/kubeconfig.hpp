// Which cluster a command talks to, as kubectl finds it. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/args.hpp"
#include "cluster/result.hpp"
#include "kube/client_config.hpp"

namespace muster::cli {

// A variable of the environment; empty: it is not set.
std::string Variable(const char* name);

// --kubeconfig and --context, after `flags`.
std::vector<Flag> WithCluster(std::vector<Flag> flags);

// What --kubeconfig says, else $KUBECONFIG (of several files the first that is there), else
// ~/.kube/config if it is there; empty: none is there.
std::string KubeconfigFile(const Args& args);

// The cluster of that file and of --context; without a file that of the pod that this runs in.
// Reads files, runs the program that a kubeconfig names for credentials, calls nobody.
cluster::Result<kube::ClientConfig> ReadCluster(const Args& args);

}  // namespace muster::cli
