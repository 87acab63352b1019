#include "policy/victims/victim_rule.hpp"

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

bool LowerPriority::MayEvict(const Preemptor& preemptor, const Holder& holder) const {
  return holder.priority < preemptor.priority;
}

bool LowerPriority::Before(const Loss& a, const Loss& b) const {
  if (a.leaves != b.leaves) return a.leaves;
  if (a.violates != b.violates) return a.violates < b.violates;
  if (a.broken != b.broken) return a.broken;
  const Holder& x = a.holder;
  const Holder& y = b.holder;
  if (x.priority != y.priority) return x.priority < y.priority;
  if (x.may_end != y.may_end) return y.may_end;
  if (a.gpu_time != b.gpu_time) return a.gpu_time < b.gpu_time;
  if (x.start != y.start) return x.start > y.start;
  return std::tie(x.gang, a.step) < std::tie(y.gang, b.step);
}

std::optional<int64_t> LowerPriority::Below(const Preemptor& preemptor) const {
  return preemptor.priority;
}

std::optional<int64_t> LowerPriority::Above(const Holder& holder) const { return holder.priority; }

std::string LowerPriority::Words() const { return "of higher priority"; }

}  // namespace muster::policy
