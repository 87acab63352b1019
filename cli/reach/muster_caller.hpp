// MusterCaller: a running Muster, as a command calls it, and how its answers are judged. reach.hpp
// says which Muster is called, and in which way.
//
// Errors are one line for people, and say what to do. One thread.
#pragma once

#include <chrono>
#include <string>

#include "cli/flags/cli.hpp"
#include "cluster/base/result.hpp"

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

// What a call may take.
inline constexpr std::chrono::milliseconds kUsualPatience{30'000};

// The token in --token-file; empty without the flag.
cluster::Result<std::string> TokenIn(const Args& args);

}  // namespace muster::cli
