// Any bytes: what is kept in ConfigMaps is read or refused; what is read is written and read back
// as the same, and usage that is believed can be adopted.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "kube/lead/order_store.hpp"
#include "kube/lead/usage_text.hpp"
#include "queues/usage_memory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace kube = muster::kube;
  namespace queues = muster::queues;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Half a pair of surrogates, which no name has, is written as U+FFFD.
  if (text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos)
    return 0;
  if (const auto orders = kube::DecodeOrders(text); orders.ok()) {
    const std::string written = kube::EncodeOrders(*orders);
    const auto again = kube::DecodeOrders(written);
    MUSTER_CHECK(again.ok() && kube::EncodeOrders(*again) == written);
  }
  const auto usage = kube::DecodeUsage(text);
  if (!usage.ok()) {
    MUSTER_CHECK(!usage.error().message.empty());
    return 0;
  }
  const auto again = kube::DecodeUsage(kube::EncodeUsage(*usage).json);
  MUSTER_CHECK(again.ok() && *again == *usage);
  constexpr muster::cluster::Time kNow{1'800'000'000'000};
  const queues::Tree tree({{.name = "a"}, {.name = "b"}});
  queues::UsageMemory memory;
  if (!memory.Adopt(*usage, tree, kNow).ok()) return 0;
  memory.LetGo(tree, kNow);
  for (const auto& [queue, past] : usage->queues)
    memory.At(queue, tree.resources().size(), kNow + muster::cluster::Seconds(3600));
  return 0;
}
