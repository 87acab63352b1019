#include "queues/turns.hpp"

#include <algorithm>

namespace muster::queues {

size_t FirstInOrder::Next(const std::vector<Head>& heads,
                          const cluster::UsageTable& /*usage*/) const {
  const auto first = std::min_element(
      heads.begin(), heads.end(), [](const Head& a, const Head& b) { return *a.gang < *b.gang; });
  return static_cast<size_t>(first - heads.begin());
}

}  // namespace muster::queues
