#include "policy/victims/loss.hpp"

#include <tuple>

namespace muster::policy {

bool SmallerLoss(const Loss& a, const Loss& b) {
  const LossTier tier_a = TierOf(a);
  const LossTier tier_b = TierOf(b);
  if (tier_a != tier_b) return tier_a < tier_b;
  const Holder& x = a.holder;
  const Holder& y = b.holder;
  if (a.gpu_time != b.gpu_time) return a.gpu_time < b.gpu_time;
  if (x.start != y.start) return x.start > y.start;
  return std::tie(x.gang, a.step) < std::tie(y.gang, b.step);
}

LossTier TierOf(const Loss& loss) {
  const Holder& holder = loss.holder;
  return {!loss.leaves,   loss.violates,   !loss.broken,  loss.whole,
          loss.straddles, holder.priority, holder.may_end};
}

}  // namespace muster::policy
