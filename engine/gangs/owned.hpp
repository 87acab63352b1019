// Owned: a value that everybody may read and only its owner may change (internal to engine/). So
// the compiler proves that every part of a Gang has one owner.
//
//   Owned<QueuePlace, PendingQueue> queue;   gang.queue->tried   reads, anywhere
//                                            gang.queue.value_   in PendingQueue only
#pragma once

namespace muster::engine {

template <typename T, typename Owner>
class Owned {
 public:
  const T* operator->() const { return &value_; }
  const T& operator*() const { return value_; }

 private:
  friend Owner;
  T value_;
};

}  // namespace muster::engine
