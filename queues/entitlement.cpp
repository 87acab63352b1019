#include "queues/entitlement.hpp"

#include <algorithm>

#include "cluster/base/units.hpp"

namespace muster::queues {

namespace {

// One of those over which something is poured.
struct Cup {
  uint64_t width = 0;  // its part of the whole
  uint64_t most = 0;   // that it holds
};

Wide Of(int64_t amount) { return Wide(static_cast<uint64_t>(std::max<int64_t>(0, amount))); }

// What each cup gets of `water`: its width times a level that is the same for all that are not
// full. `left`: what no cup of any width holds.
std::vector<Share> Pour(const Share& water, const std::vector<Cup>& cups, Share* left) {
  std::vector<size_t> order;
  uint64_t width = 0;
  for (size_t i = 0; i < cups.size(); ++i) {
    if (cups[i].width == 0) continue;
    order.push_back(i);
    width += cups[i].width;
  }
  // Those that are full at the lowest level first.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Uint128 level_a = Uint128{cups[a].most} * cups[b].width;
    const Uint128 level_b = Uint128{cups[b].most} * cups[a].width;
    return level_a != level_b ? level_a < level_b : a < b;
  });
  std::vector<Share> poured(cups.size());
  Wide rest = water.over;  // over water.under
  for (size_t next = 0; next < order.size(); ++next) {
    const Cup& cup = cups[order[next]];
    const Wide full = water.under.Times(cup.most);
    if (full.Times(width) <= rest.Times(cup.width)) {
      poured[order[next]] = {Wide(cup.most)};
      rest = rest.Minus(full);
      width -= cup.width;
      continue;
    }
    // Nobody else is full either.
    for (; next < order.size(); ++next) {
      poured[order[next]] = {rest.Times(cups[order[next]].width), water.under.Times(width)};
    }
    rest = Wide();
  }
  *left = {rest, water.under};
  return poured;
}

class Entitler {
 public:
  Entitler(const Tree& tree, size_t resource) : tree_(tree), resource_(resource) {}

  std::vector<Entitlement> Run(int64_t capacity, const std::vector<int64_t>& demand) {
    given_.resize(tree_.size());
    for (size_t i = given_.size(); i-- > 0;) {
      const Queue& queue = tree_.at(QueueIndex{static_cast<uint32_t>(i)});
      int64_t wants = queue.leaf() ? demand[i] : 0;
      for (const QueueIndex child : queue.children)
        wants = cluster::SaturatingAdd(wants, given_[child.value].demand);
      given_[i].demand = std::min(wants, queue.limit[resource_]);
    }
    given_[kRootIndex.value].share = {Of(std::min(capacity, given_[kRootIndex.value].demand))};
    for (uint32_t i = 0; i < given_.size(); ++i) Divide(tree_.at(QueueIndex{i}), given_[i].share);
    return std::move(given_);
  }

 private:
  int64_t BaseOf(QueueIndex queue) const {
    return std::min(tree_.at(queue).guarantee[resource_], given_[queue.value].demand);
  }
  void Divide(const Queue& queue, const Share& share);

  const Tree& tree_;
  const size_t resource_;
  std::vector<Entitlement> given_;
};

void Entitler::Divide(const Queue& queue, const Share& share) {
  int64_t bases = 0;
  for (const QueueIndex child : queue.children) bases += BaseOf(child);
  Share left;
  std::vector<Cup> cups;
  if (const Wide needed = share.under.Times(static_cast<uint64_t>(bases)); share.over < needed) {
    for (const QueueIndex child : queue.children) {
      cups.push_back({static_cast<uint64_t>(tree_.at(child).guarantee[resource_]),
                      static_cast<uint64_t>(BaseOf(child))});
    }
    const std::vector<Share> poured = Pour(share, cups, &left);
    for (size_t i = 0; i < cups.size(); ++i) {
      Entitlement& child = given_[queue.children[i].value];
      child.share = poured[i];
      child.scaled = poured[i].over < poured[i].under.Times(cups[i].most);
    }
    return;
  }
  left = {share.over.Minus(share.under.Times(static_cast<uint64_t>(bases))), share.under};
  for (const bool weightless : {false, true}) {
    cups.clear();
    for (const QueueIndex child : queue.children) {
      const int64_t weight = tree_.at(child).weight;
      const int64_t wants = given_[child.value].demand - BaseOf(child);
      const int64_t width = weightless ? 1 : weight;
      cups.push_back({(weight == 0) == weightless ? static_cast<uint64_t>(width) : 0,
                      static_cast<uint64_t>(std::max<int64_t>(0, wants))});
    }
    const std::vector<Share> poured = Pour(left, cups, &left);
    for (size_t i = 0; i < cups.size(); ++i) {
      if (cups[i].width == 0) continue;
      const Wide base = Of(BaseOf(queue.children[i]));
      Share& given = given_[queue.children[i].value].share;
      given = {poured[i].over, poured[i].under};
      if (!base.zero())
        given.over =
            given.over.Plus(given.under.Times(static_cast<uint64_t>(BaseOf(queue.children[i]))));
    }
  }
}

}  // namespace

bool Share::operator==(const Share& other) const {
  // Both are below 2^63, so whole parts and what is left over are told apart without a product of
  // two wide numbers.
  const int64_t whole = floor();
  if (whole != other.floor()) return false;
  Wide a = over.Minus(under.Times(static_cast<uint64_t>(whole)));
  Wide b = other.over.Minus(other.under.Times(static_cast<uint64_t>(whole)));
  Wide under_a = under;
  Wide under_b = other.under;
  while (!a.zero() && !b.zero()) {
    // a / under_a = b / under_b just when the inverses agree.
    const auto inverse_a = static_cast<uint64_t>(Floor(under_a, a));
    const auto inverse_b = static_cast<uint64_t>(Floor(under_b, b));
    if (inverse_a != inverse_b) return false;
    const Wide left_a = under_a.Minus(a.Times(inverse_a));
    const Wide left_b = under_b.Minus(b.Times(inverse_b));
    under_a = a;
    under_b = b;
    a = left_a;
    b = left_b;
  }
  return a.zero() && b.zero();
}

std::vector<Entitlement> Entitle(const Tree& tree, size_t resource, int64_t capacity,
                                 const std::vector<int64_t>& demand) {
  return Entitler(tree, resource).Run(capacity, demand);
}

}  // namespace muster::queues
