// MusterCaller: how a command reaches a running Muster. Either directly (--server), or through the
// API server of its cluster, by the service proxy (cluster_caller.hpp).
//
// Errors are one line for people, and say what to do. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cluster/result.hpp"

namespace muster::cli {

class MusterCaller {
 public:
  MusterCaller() = default;
  virtual ~MusterCaller() = default;
  MusterCaller(const MusterCaller&) = delete;
  MusterCaller& operator=(const MusterCaller&) = delete;

  // The body of a 200, or an error with what was said: kNotFound, kUnavailable (nobody answers),
  // else kInvalidArgument.
  virtual cluster::Result<std::string> Get(const std::string& path) = 0;
  virtual cluster::Result<std::string> Post(const std::string& path, const std::string& body,
                                            const std::string& content_type) = 0;
  cluster::Result<std::string> Post(const std::string& path, const std::string& body) {
    return Post(path, body, "application/json");
  }
  // In which a gang is that is named without one.
  virtual std::string default_namespace() const = 0;
};

// Of an answer that is no success.
cluster::Code CodeOfStatus(int status);
// The body of a success, or an error with what Muster says, or that it was not Muster who said it.
// `place`: who was asked.
cluster::Result<std::string> AnswerOf(const std::string& place, int status,
                                      const std::string& body);

// `flags`, and those that say how to reach Muster and as whom.
std::vector<Flag> WithAccess(std::vector<Flag> flags);

// What a call may take.
inline constexpr std::chrono::milliseconds kUsualPatience{30'000};

// Questions find a Muster by themselves. Orders go where somebody said: who does not say which
// cluster must not give one to another than they thought of.
enum class Purpose { kAsk, kOrder };

// As the flags say, else $MUSTER_SERVER, else Muster on this machine if one answers there, else
// the cluster of the kubeconfig (not for orders). As kubectl's plugin: --server, else the cluster.
// An error is wrong usage.
cluster::Result<std::unique_ptr<MusterCaller>> ReachMuster(
    const Args& args, const CliStreams& streams, Purpose purpose = Purpose::kAsk,
    std::chrono::milliseconds patience = kUsualPatience);

// The token in --token-file; empty without the flag.
cluster::Result<std::string> TokenIn(const Args& args);

}  // namespace muster::cli
