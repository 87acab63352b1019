// Runs the program that a kubeconfig names for its credentials. One thread; waits for its end.
#pragma once

#include "cluster/base/result.hpp"
#include "kube/api/exec_plugin.hpp"

namespace muster::cli {

// Its credentials in `config`. The program has our standard input and error, so that it can ask.
// An error holds nothing that it printed to standard output.
cluster::Status RunCredentialProgram(const kube::ExecPlugin& plugin, kube::ClientConfig* config);

}  // namespace muster::cli
