// The process's memory allocator. Only where the C library is glibc; elsewhere nothing happens.
#pragma once

namespace muster::http {

// Blocks of 1 MiB and more, large bodies and answers, get pages of their own and give them back
// when they are freed. By default glibc raises that limit after the first large free and then keeps
// the pages, once per arena: bodies that are long gone would still count as memory in use. Keeping
// up to 64 MiB instead makes Filter with whole Node objects twice as fast, and the process three
// times as large (223 instead of 68 MB); names of nodes, as the manifests set it, cost the same.
//
// Threads share a few arenas. By default there are eight for each processor, and what was freed in
// one is of no use to a thread of another.
//
// For the whole process that serves: once, before it has threads.
void GiveFreedMemoryBack();

// Free pages between blocks in use, of all arenas: takes milliseconds, and threads that allocate
// wait for a part of them.
void ReturnFreePages();

}  // namespace muster::http
