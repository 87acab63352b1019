// ResidentBytes: the memory of this process that is in RAM. For programs of bench/.
#pragma once

#include <malloc.h>

#include <cstdint>
#include <fstream>

namespace muster::bench {

inline int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  constexpr int64_t kPage = 4096;
  return resident * kPage;
}

// The same without what the allocator keeps for later.
inline int64_t UsedBytes() {
  malloc_trim(0);
  return ResidentBytes();
}

}  // namespace muster::bench
