#include "cluster/amounts/named_amounts.hpp"

#include <algorithm>

#include "cluster/base/units.hpp"

namespace muster::cluster {
namespace {

using List = std::vector<NamedAmount>;
using Span = std::span<const NamedAmount>;

// Both ordered by name; calls visit(name, of a, of b) for each name that is in one of them, until
// it gives false.
template <typename Visit>
void EachOfBoth(Span a, Span b, const Visit& visit) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    const int order = left == a.end() ? 1 : right == b.end() ? -1 : left->name.compare(right->name);
    const std::string& name = order <= 0 ? left->name : right->name;
    const int64_t of_a = order <= 0 ? left->amount : 0;
    const int64_t of_b = order >= 0 ? right->amount : 0;
    if (order <= 0) ++left;
    if (order >= 0) ++right;
    if (!visit(name, of_a, of_b)) return;
  }
}

}  // namespace

NamedAmounts::NamedAmounts(std::vector<NamedAmount> amounts) {
  std::sort(amounts.begin(), amounts.end());
  List list;
  for (NamedAmount& one : amounts) {
    if (!list.empty() && list.back().name == one.name) {
      list.back().amount = SaturatingAdd(list.back().amount, one.amount);
    } else {
      list.push_back(std::move(one));
    }
  }
  Keep(std::move(list));
}

int64_t NamedAmounts::Of(std::string_view name) const {
  const Span all = list();
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [](const NamedAmount& one, std::string_view wanted) { return one.name < wanted; });
  return found == all.end() || found->name != name ? 0 : found->amount;
}

void NamedAmounts::Set(std::string_view name, int64_t amount) {
  List changed(list().begin(), list().end());
  std::erase_if(changed, [&](const NamedAmount& one) { return one.name == name; });
  changed.push_back({std::string(name), amount});
  *this = NamedAmounts(std::move(changed));
}

NamedAmounts& NamedAmounts::Add(const NamedAmounts& other, int64_t times) {
  List sum;
  EachOfBoth(list(), other.list(), [&](const std::string& name, int64_t mine, int64_t theirs) {
    sum.push_back({name, SaturatingAdd(mine, SaturatingMultiply(theirs, times))});
    return true;
  });
  Keep(std::move(sum));
  return *this;
}

NamedAmounts NamedAmounts::Times(int64_t times) const {
  List product(list().begin(), list().end());
  for (NamedAmount& one : product) one.amount = SaturatingMultiply(one.amount, times);
  NamedAmounts all;
  all.Keep(std::move(product));
  return all;
}

NamedAmounts NamedAmounts::Positive() const {
  if (!AnyNegative()) return *this;
  List positive(list().begin(), list().end());
  std::erase_if(positive, [](const NamedAmount& one) { return one.amount <= 0; });
  NamedAmounts all;
  all.Keep(std::move(positive));
  return all;
}

bool NamedAmounts::AnyNegative() const {
  const Span all = list();
  return std::any_of(all.begin(), all.end(), [](const NamedAmount& one) { return one.amount < 0; });
}

const NamedAmount* NamedAmounts::FirstShort(const NamedAmounts& request) const {
  const Span asked = request.list();
  const auto found = std::find_if(asked.begin(), asked.end(), [&](const NamedAmount& one) {
    return one.amount > 0 && one.amount > Of(one.name);
  });
  return found == asked.end() ? nullptr : &*found;
}

bool NamedAmounts::OwesAnyOf(const NamedAmounts& request) const {
  const Span asked = request.list();
  return std::any_of(asked.begin(), asked.end(),
                     [&](const NamedAmount& one) { return one.amount > 0 && Of(one.name) < 0; });
}

bool NamedAmounts::RoseFrom(const NamedAmounts& before) const {
  if (list_ == before.list_) return false;
  bool rose = false;
  EachOfBoth(list(), before.list(), [&](const std::string& /*name*/, int64_t now, int64_t then) {
    rose = now > then;
    return !rose;
  });
  return rose;
}

void NamedAmounts::Keep(List list) {
  std::erase_if(list, [](const NamedAmount& one) { return one.amount == 0; });
  list_ = list.empty() ? nullptr : std::make_shared<const List>(std::move(list));
}

}  // namespace muster::cluster
