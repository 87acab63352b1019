// ReachMuster: how a command reaches a running Muster. Either directly (--server), or through the
// API server of its cluster, by the service proxy (cluster_caller.hpp).
//
// Errors are one line for people, and say what to do. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "cli/flags/cli.hpp"
#include "cli/reach/muster_caller.hpp"
#include "cluster/base/result.hpp"

namespace muster::cli {

// `flags`, and those that say how to reach Muster and as whom.
std::vector<Flag> WithAccess(std::vector<Flag> flags);

// Questions find a Muster by themselves. Orders go where somebody said: who does not say which
// cluster must not give one to another than they thought of.
enum class Purpose { kAsk, kOrder };

// As the flags say, else $MUSTER_SERVER, else Muster on this machine if one answers there, else
// the cluster of the kubeconfig (not for orders). As kubectl's plugin: --server, else the cluster.
// An error is wrong usage.
cluster::Result<std::unique_ptr<MusterCaller>> ReachMuster(
    const Args& args, const CliStreams& streams, Purpose purpose = Purpose::kAsk,
    std::chrono::milliseconds patience = kUsualPatience);

}  // namespace muster::cli
