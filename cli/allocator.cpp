#include "cli/allocator.hpp"

#include <cstdlib>  // tells whether it is glibc

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace muster::cli {

void KeepFreedMemory() {
#if defined(__GLIBC__)
  constexpr int kKept = 64 << 20;
  constexpr int kMapped = 32 << 20;  // larger blocks are mapped by themselves; the most glibc takes
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_MMAP_THRESHOLD, kMapped);
#endif
}

}  // namespace muster::cli
