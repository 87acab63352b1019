// Error and Result<T>: expected failures are values.
//
// An Error says what is wrong, where (file, line, field: whatever the reader can look up) and, in
// its message, what to do. Result<T> holds a T or an Error. Both are plain values; threads share
// them as they share an int.
//
//   Result<MilliCpu> cpu = ParseCpu(text);
//   if (!cpu.ok()) return cpu.error().At("spec.containers[0].resources.requests.cpu");
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "cluster/base/check.hpp"

namespace muster::cluster {

// The closed set of ways in which an operation fails.
enum class Code {
  kInvalidArgument,  // the input is malformed or out of range; the same input fails again
  kNotFound,         // the object does not exist (any more)
  kConflict,         // the object changed or is in a state that forbids this
  kForbidden,        // the caller may not do this
  kUnavailable,      // not now: not synced, not leader, timeout; trying again may work
  kExhausted,        // a limit of ours was reached (size, depth, count)
  kIo,               // a file or socket failed
  kInternal,         // a bug or an unexpected answer of a library
};

const char* ToString(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;  // one line, no trailing period, says what was expected
  std::string place;    // "policy.yaml:12:3", "spec.minMember", …; empty when there is none

  // The same error seen from one level further out: `outer` goes before what `place` already says,
  // joined by a dot, except before an index in brackets.
  Error At(const std::string& outer) const;
  // "place: message", or the message alone.
  std::string ToString() const;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // Both implicit, so that a function reads `return value` and `return error`.
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : value_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(value_); }
  const T& value() const& {
    MUSTER_CHECK(ok());
    return std::get<T>(value_);
  }
  T& value() & {
    MUSTER_CHECK(ok());
    return std::get<T>(value_);
  }
  T&& value() && {
    MUSTER_CHECK(ok());
    return std::get<T>(std::move(value_));
  }
  const Error& error() const {
    MUSTER_CHECK(!ok());
    return std::get<Error>(value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Error> value_;
};

// For operations that only succeed or fail: `return Ok{};`
struct Ok {};
using Status = Result<Ok>;

}  // namespace muster::cluster
