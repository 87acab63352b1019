// SharedList: values that many have in common, as one list: copies cost nothing, and lists that are
// one are compared at a glance. Immutable, so threads may share it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace muster::kube {

template <typename Value>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<Value> values)  // NOLINT(google-explicit-constructor): it is one
      : values_(values.empty() ? nullptr
                               : std::make_shared<const std::vector<Value>>(std::move(values))) {}
  SharedList(std::initializer_list<Value> values) : SharedList(std::vector<Value>(values)) {}

  const Value* begin() const { return empty() ? nullptr : values_->data(); }
  const Value* end() const { return empty() ? nullptr : values_->data() + values_->size(); }
  bool empty() const { return values_ == nullptr; }
  size_t size() const { return empty() ? 0 : values_->size(); }
  const Value& operator[](size_t at) const { return (*values_)[at]; }
  std::vector<Value> Copy() const { return {begin(), end()}; }

  bool operator==(const SharedList& other) const { return (*this <=> other) == 0; }
  std::strong_ordering operator<=>(const SharedList& other) const {
    if (values_ == other.values_) return std::strong_ordering::equal;
    return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end());
  }

 private:
  std::shared_ptr<const std::vector<Value>> values_;  // null: there are none
};

}  // namespace muster::kube
