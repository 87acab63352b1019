// NamedAmounts: amounts of resources that are known by their names alone: ephemeral-storage
// (bytes), huge pages (bytes), extended resources such as vpc.amazonaws.com/efa (whole things).
//
// A name without an amount has none: 0 is never kept. Nothing is allocated where there are none,
// and copies share one list, which is never changed. So most pods pay one pointer for it, and a
// node that no pod with such a request comes to never copies its list.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::cluster {

struct NamedAmount {
  std::string name;
  int64_t amount = 0;
  auto operator<=>(const NamedAmount&) const = default;
};

class NamedAmounts {
 public:
  NamedAmounts() = default;
  // In any order; amounts of one name are added up.
  explicit NamedAmounts(std::vector<NamedAmount> amounts);

  bool empty() const { return list_ == nullptr; }
  // Ordered by name, none of them 0.
  std::span<const NamedAmount> list() const {
    return list_ == nullptr ? std::span<const NamedAmount>() : std::span<const NamedAmount>(*list_);
  }
  int64_t Of(std::string_view name) const;
  void Set(std::string_view name, int64_t amount);

  NamedAmounts& operator+=(const NamedAmounts& other) {
    return other.empty() ? *this : Add(other, 1);
  }
  NamedAmounts& operator-=(const NamedAmounts& other) {
    return other.empty() ? *this : Add(other, -1);
  }
  NamedAmounts Times(int64_t times) const;
  // Those above 0.
  NamedAmounts Positive() const;
  // Of one of them there is less than 0.
  bool AnyNegative() const;
  // Of each that `request` asks for there is so much.
  bool Fits(const NamedAmounts& request) const {
    return request.empty() || FirstShort(request) == nullptr;
  }
  // The first, by name, of which `request` asks for more than there is; null: of none.
  const NamedAmount* FirstShort(const NamedAmounts& request) const;
  // Of one that `request` asks for there is less than 0.
  bool OwesAnyOf(const NamedAmounts& request) const;
  // Of one of them there is more than in `before`.
  bool RoseFrom(const NamedAmounts& before) const;

  bool operator==(const NamedAmounts& other) const {
    return list_ == other.list_ ||
           (list_ != nullptr && other.list_ != nullptr && *list_ == *other.list_);
  }
  std::strong_ordering operator<=>(const NamedAmounts& other) const {
    if (list_ == other.list_) return std::strong_ordering::equal;
    const std::span<const NamedAmount> a = list();
    const std::span<const NamedAmount> b = other.list();
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  NamedAmounts& Add(const NamedAmounts& other, int64_t times);
  void Keep(std::vector<NamedAmount> list);

  std::shared_ptr<const std::vector<NamedAmount>> list_;  // null: none
};

}  // namespace muster::cluster
