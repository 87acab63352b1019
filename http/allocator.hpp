// The process's memory allocator.
#pragma once

namespace muster::http {

// Blocks of 1 MiB and more, large bodies and answers, get pages of their own and give them back
// when they are freed. By default glibc raises that limit after the first large free and then keeps
// the pages, once per arena: bodies that are long gone would still count as memory in use. Keeping
// up to 64 MiB instead makes Filter with whole Node objects twice as fast, and the process three
// times as large (223 instead of 68 MB); names of nodes, as the manifests set it, cost the same.
//
// For the whole process that serves: once, before it has threads. Only where the C library is
// glibc; elsewhere nothing happens.
void GiveFreedMemoryBack();

}  // namespace muster::http
