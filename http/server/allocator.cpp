#include "http/server/allocator.hpp"

#include <cstdlib>  // tells whether it is glibc

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace muster::http {

void GiveFreedMemoryBack() {
#if defined(__GLIBC__)
  constexpr int kLargeBlock = 1 << 20;
  constexpr int kArenas = 4;
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  mallopt(M_TRIM_THRESHOLD, kLargeBlock);
  mallopt(M_ARENA_MAX, kArenas);
#endif
}

void ReturnFreePages() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace muster::http
