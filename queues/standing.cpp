#include "queues/standing.hpp"

#include <algorithm>

namespace muster::queues {

bool NamesGuaranteedModel(const Tree& tree, const Vector& asks) {
  for (size_t r = 0; r < asks.size(); ++r) {
    const bool model = tree.resources()[r].kind == Resource::Kind::kGpuModel;
    if (model && asks[r] > 0 && tree.guaranteed(r)) return true;
  }
  return false;
}

Standing StandingOf(const Ledger& ledger, QueueIndex queue, const Vector& asks, Past past) {
  const Queue& known = ledger.tree().at(queue);
  const Vector& used = ledger.used(queue);
  const Vector& average = ledger.average(queue);
  const bool remembers = past == Past::kCounts && !average.empty();
  Standing standing;
  bool beyond = false;  // its guarantee, in something that the gang asks for
  const bool by_model = NamesGuaranteedModel(ledger.tree(), asks);
  standing.weightless = known.weight == 0;
  const auto weight = static_cast<uint64_t>(std::max<int64_t>(known.weight, 1));
  for (size_t r = 0; r < asks.size(); ++r) {
    const auto over_with = [&](int64_t counts) {
      return std::max<int64_t>(
          0, cluster::SaturatingAdd(cluster::SaturatingAdd(counts, asks[r]), -known.guarantee[r]));
    };
    const int64_t now = over_with(used[r]);
    const bool any_kind = by_model && r == Tree::kGpu;
    if (asks[r] > 0 && ledger.tree().guaranteed(r) && !any_kind)
      (now == 0 ? standing.within : beyond) = true;
    const int64_t over = remembers ? over_with(std::max(used[r], average[r])) : now;
    if (over == 0) continue;
    const auto capacity = static_cast<uint64_t>(std::max<int64_t>(0, ledger.capacity()[r]));
    const auto counts = static_cast<uint64_t>(known.resource_weights[r]);
    const Fraction b{Uint128{counts} * static_cast<uint64_t>(over), Uint128{weight} * capacity};
    if (Compare(b, standing.b) > 0) {
      standing.b = b;
      standing.resource = r;
    }
  }
  standing.within = standing.within && !beyond;
  return standing;
}

std::strong_ordering Compare(const Standing& a, const Standing& b) {
  if (a.within != b.within) return b.within <=> a.within;
  return CompareShares(a, b);
}

std::strong_ordering CompareShares(const Standing& a, const Standing& b) {
  if (a.weightless != b.weightless) return a.weightless <=> b.weightless;
  return Compare(a.b, b.b);
}

std::string Show(const Fraction& b) {
  if (b.over == 0) return "0.000";
  if (b.under == 0) return "over capacity";
  const Uint128 whole = b.over / b.under;
  const Uint128 rest = b.over % b.under;
  const Uint128 thousandths = whole * 1000 + rest * 1000 / b.under;
  const auto value = static_cast<uint64_t>(thousandths);
  return std::to_string(value / 1000) + "." + std::to_string(1000 + value % 1000).substr(1);
}

}  // namespace muster::queues
