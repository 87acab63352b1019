// MemberMap: the members of a gang by UID (internal to engine/). As std::map<PodUid, Member>, in
// the same order, and references stay valid until their member is erased. But a gang of 5,000 is
// looked at as a whole some twenty times whenever it is judged: here the processor reads the next
// members while it looks at this one. To add or to erase one moves the addresses behind it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/base/check.hpp"
#include "engine/gangs/member.hpp"

namespace muster::engine {

class MemberMap {
 public:
  using value_type = std::pair<const cluster::PodUid, Member>;

 private:
  using Addresses = std::vector<std::unique_ptr<value_type>>;

 public:
  // `Value`: value_type, const or not.
  template <typename Value>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = MemberMap::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;

    Iterator() = default;
    explicit Iterator(Addresses::const_iterator at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    Addresses::const_iterator at_;
  };
  using iterator = Iterator<value_type>;
  using const_iterator = Iterator<const value_type>;

  iterator begin() { return iterator(addresses_.begin()); }
  iterator end() { return iterator(addresses_.end()); }
  const_iterator begin() const { return const_iterator(addresses_.begin()); }
  const_iterator end() const { return const_iterator(addresses_.end()); }
  size_t size() const { return addresses_.size(); }
  bool empty() const { return addresses_.empty(); }

  iterator find(const cluster::PodUid& uid) { return iterator(Find(uid)); }
  const_iterator find(const cluster::PodUid& uid) const { return const_iterator(Find(uid)); }
  bool contains(const cluster::PodUid& uid) const { return Find(uid) != addresses_.end(); }
  // There must be one.
  Member& at(const cluster::PodUid& uid) { return (*Known(uid))->second; }
  const Member& at(const cluster::PodUid& uid) const { return (*Known(uid))->second; }
  // A new one, if there is none.
  Member& operator[](const cluster::PodUid& uid) {
    const auto place = Place(uid);
    if (place != addresses_.end() && (*place)->first == uid) return (*place)->second;
    return (*addresses_.insert(place, std::make_unique<value_type>(uid, Member())))->second;
  }
  void erase(const cluster::PodUid& uid) {
    if (const auto found = Find(uid); found != addresses_.end()) addresses_.erase(found);
  }

 private:
  // The first that does not come before it.
  Addresses::const_iterator Place(const cluster::PodUid& uid) const {
    return std::lower_bound(addresses_.begin(), addresses_.end(), uid,
                            [](const auto& one, const auto& id) { return one->first < id; });
  }
  Addresses::const_iterator Find(const cluster::PodUid& uid) const {
    const auto place = Place(uid);
    return place != addresses_.end() && (*place)->first == uid ? place : addresses_.end();
  }
  Addresses::const_iterator Known(const cluster::PodUid& uid) const {
    const auto found = Find(uid);
    MUSTER_CHECK(found != addresses_.end());
    return found;
  }

  Addresses addresses_;  // in the order of the UIDs
};

}  // namespace muster::engine
