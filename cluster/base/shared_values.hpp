// SharedValues: one shared object per distinct value, for what many records have alike. What nobody
// has any more is dropped from time to time. One thread at a time; the values are immutable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

namespace muster::cluster {

template <typename T>
class SharedValues {
 public:
  using Shared = std::shared_ptr<const T>;

  Shared Share(T value) {
    const auto found = values_.find(value);
    if (found != values_.end()) return *found;
    if (values_.size() >= sweep_at_) Sweep();
    return *values_.insert(std::make_shared<const T>(std::move(value))).first;
  }
  std::size_t size() const { return values_.size(); }

 private:
  struct ByValue {
    using is_transparent = void;
    bool operator()(const Shared& a, const Shared& b) const { return *a < *b; }
    bool operator()(const Shared& a, const T& b) const { return *a < b; }
    bool operator()(const T& a, const Shared& b) const { return a < *b; }
  };
  void Sweep() {
    for (auto it = values_.begin(); it != values_.end();)
      it = it->use_count() == 1 ? values_.erase(it) : std::next(it);
    sweep_at_ = std::max(kLeast, 2 * values_.size());
  }

  static constexpr std::size_t kLeast = 64;
  std::set<Shared, ByValue> values_;
  std::size_t sweep_at_ = kLeast;
};

}  // namespace muster::cluster
