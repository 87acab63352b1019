#include "policy/victim_rule.hpp"

#include <tuple>

namespace muster::policy {

bool SmallerLoss(const Loss& a, const Loss& b) {
  if (a.leaves != b.leaves) return a.leaves;
  if (a.broken != b.broken) return a.broken;
  const Holder& x = a.holder;
  const Holder& y = b.holder;
  if (a.whole != b.whole) return b.whole;
  if (a.straddles != b.straddles) return b.straddles;
  if (x.priority != y.priority) return x.priority < y.priority;
  if (x.may_end != y.may_end) return y.may_end;
  if (a.gpu_time != b.gpu_time) return a.gpu_time < b.gpu_time;
  if (x.start != y.start) return x.start > y.start;
  return std::tie(x.gang, a.step) < std::tie(y.gang, b.step);
}

bool LowerPriority::MayEvict(const Preemptor& preemptor, const Holder& holder) const {
  return holder.priority < preemptor.priority;
}

bool LowerPriority::Before(const Loss& a, const Loss& b) const {
  if (a.leaves != b.leaves) return a.leaves;
  if (a.broken != b.broken) return a.broken;
  const Holder& x = a.holder;
  const Holder& y = b.holder;
  if (x.priority != y.priority) return x.priority < y.priority;
  if (x.may_end != y.may_end) return y.may_end;
  if (x.start != y.start) return x.start > y.start;
  return std::tie(x.gang, a.step) < std::tie(y.gang, b.step);
}

std::optional<int64_t> LowerPriority::Below(const Preemptor& preemptor) const {
  return preemptor.priority;
}

std::optional<int64_t> LowerPriority::Above(const Holder& holder) const { return holder.priority; }

std::string LowerPriority::Words() const { return "of higher priority"; }

}  // namespace muster::policy
