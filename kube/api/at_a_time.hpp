// DoAtATime: many short tasks that wait for somebody else, such as calls to an API server, on a few
// threads. Blocks until all have been done.
#pragma once

#include <cstddef>
#include <functional>

namespace muster::kube {

// work(0), …, work(count - 1), each once, begun in this order, `most` (at least 1) at a time; one
// of the threads is the caller's. `work` is called by all of them and throws nothing.
void DoAtATime(size_t count, int most, const std::function<void(size_t)>& work);

}  // namespace muster::kube
