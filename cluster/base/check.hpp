// MUSTER_CHECK: stops the program when an internal assumption is broken.
//
// For bugs only. Input of any kind (requests, YAML, API objects) is answered with an Error instead,
// and "does not fit" is an answer, not an error.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace muster::cluster {

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace muster::cluster

#define MUSTER_CHECK(condition)       \
  ((condition) ? static_cast<void>(0) \
               : ::muster::cluster::CheckFailed(#condition, __FILE__, __LINE__))
