// The process's memory allocator.
#pragma once

namespace muster::cli {

// Keeps freed memory, up to 64 MiB per arena, instead of giving it back to the kernel and faulting
// it in again with every large request. Once, at the start of main; the only place that sets it.
// Only where the C library is glibc; elsewhere nothing happens.
//
// Measured against 1 MiB for both limits (bench_extender --smoke, two cores): Filter with 1,000
// whole nodes (8.4 MiB) p50 38 to 42 ms against 70 to 89 ms; with 10,000 names 1.02 against 1.21
// times the echo; CPU of the whole run 2.2 s against 3.5 s, page faults 59,000 against 484,000. The
// price is paid with whole nodes only: at the end 223 MB resident against 68 MB. Pods that come and
// go (bench_soak, 41,000 pods: 40 MB) and large API objects (bench_fat: 12 MB) make no difference.
void KeepFreedMemory();

}  // namespace muster::cli
