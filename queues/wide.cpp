#include "queues/wide.hpp"

#include "cluster/base/check.hpp"

namespace muster::queues {

Wide Wide::Times(uint64_t factor) const {
  Wide product;
  Uint128 carry = 0;
  for (size_t i = 0; i < kLimbs; ++i) {
    carry += Uint128{limbs_[i]} * factor;
    product.limbs_[i] = static_cast<uint64_t>(carry);
    carry >>= 64U;
  }
  MUSTER_CHECK(carry == 0);
  return product;
}

Wide Wide::Plus(const Wide& more) const {
  Wide sum;
  Uint128 carry = 0;
  for (size_t i = 0; i < kLimbs; ++i) {
    carry += Uint128{limbs_[i]} + more.limbs_[i];
    sum.limbs_[i] = static_cast<uint64_t>(carry);
    carry >>= 64U;
  }
  MUSTER_CHECK(carry == 0);
  return sum;
}

Wide Wide::Minus(const Wide& less) const {
  MUSTER_CHECK(*this >= less);
  Wide rest;
  uint64_t borrow = 0;
  for (size_t i = 0; i < kLimbs; ++i) {
    const Uint128 taken = Uint128{less.limbs_[i]} + borrow;
    borrow = taken > limbs_[i] ? 1 : 0;
    rest.limbs_[i] = limbs_[i] - static_cast<uint64_t>(taken);
  }
  return rest;
}

std::strong_ordering Wide::operator<=>(const Wide& other) const {
  for (size_t i = kLimbs; i-- > 0;) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] <=> other.limbs_[i];
  }
  return std::strong_ordering::equal;
}

int64_t Floor(const Wide& numerator, const Wide& denominator) {
  MUSTER_CHECK(!denominator.zero());
  uint64_t floor = 0;
  for (uint64_t bit = uint64_t{1} << 62U; bit != 0; bit >>= 1U) {
    if (denominator.Times(floor | bit) <= numerator) floor |= bit;
  }
  return static_cast<int64_t>(floor);
}

std::strong_ordering Compare(Fraction a, Fraction b) {
  constexpr Uint128 kHalf = Uint128{1} << 64U;
  const auto infinite = [](const Fraction& f) { return f.under == 0 && f.over > 0; };
  if (infinite(a) || infinite(b)) return infinite(a) <=> infinite(b);
  if (a.over == 0 || b.over == 0) return (a.over != 0) <=> (b.over != 0);
  while (true) {
    if (a.over < kHalf && a.under < kHalf && b.over < kHalf && b.under < kHalf)
      return a.over * b.under <=> b.over * a.under;
    const Uint128 whole_a = a.over / a.under;
    const Uint128 whole_b = b.over / b.under;
    if (whole_a != whole_b) return whole_a <=> whole_b;
    // What is left is below 1: the greater has the smaller inverse.
    const Fraction left_a{a.over % a.under, a.under};
    const Fraction left_b{b.over % b.under, b.under};
    if (left_a.over == 0 || left_b.over == 0) return (left_a.over != 0) <=> (left_b.over != 0);
    a = {left_b.under, left_b.over};
    b = {left_a.under, left_a.over};
  }
}

}  // namespace muster::queues
