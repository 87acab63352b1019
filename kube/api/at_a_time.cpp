#include "kube/api/at_a_time.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace muster::kube {

void DoAtATime(size_t count, int most, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto go_on = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(count, static_cast<size_t>(most)); ++i) {
    threads.emplace_back(go_on);
  }
  go_on();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace muster::kube
