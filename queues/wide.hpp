// Wide: a natural number of 768 bits, for shares that are fractions of fractions: no rounding, and
// no overflow within kMostLevels, kMostWeight, kMostQueues and kMostAmount. Plain values; pure
// functions.
//
//   What is under a share is a product of Σ guarantees, or Σ weights, of the levels above: at most
//   2^61 at the root and 2^50 below, where those of the parent cover them. In all 2^611, and 2^63
//   times that where it is compared.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace muster::queues {

__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using): no other way

class Wide {
 public:
  constexpr Wide() = default;
  constexpr explicit Wide(uint64_t value) { limbs_[0] = value; }
  // Both must have their result in 768 bits (MUSTER_CHECK).
  Wide Times(uint64_t factor) const;
  Wide Plus(const Wide& more) const;
  Wide Minus(const Wide& less) const;  // not below 0 (MUSTER_CHECK)
  bool zero() const { return *this == Wide(); }
  std::strong_ordering operator<=>(const Wide& other) const;
  bool operator==(const Wide&) const = default;

 private:
  static constexpr size_t kLimbs = 12;
  std::array<uint64_t, kLimbs> limbs_{};  // the lowest first
};

// ⌊numerator / denominator⌋, which is below 2^63. `denominator` is not 0.
int64_t Floor(const Wide& numerator, const Wide& denominator);

// A fraction that is not negative; over 0 it is infinite (0 over 0 is 0).
struct Fraction {
  Uint128 over = 0;
  Uint128 under = 1;
};
// Exact: by cross-multiplication where that fits, else by the fractions' whole parts and what is
// left.
std::strong_ordering Compare(Fraction a, Fraction b);

}  // namespace muster::queues
