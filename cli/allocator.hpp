// The process's memory allocator.
#pragma once

namespace muster::cli {

// Keeps freed memory, up to 64 MiB per arena, instead of giving it back to the kernel and faulting
// it in again with every large request: at 5,000 node names that was a fifth of a Filter call.
// Once, at the start of main. Only where the C library is glibc; elsewhere nothing happens.
void KeepFreedMemory();

}  // namespace muster::cli
