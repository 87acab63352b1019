// Tombstones: the UIDs that were removed last, so that late duplicates do not bring an object back.
//
// Bounded: the oldest is forgotten when `limit` is passed. A UID of the API server's, which is a
// UUID, is kept as its sixteen bytes; what is none is kept as a number of as many bits that is
// worked out of it, so that one costs about 24 bytes. Owned by ClusterState; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cluster {

class Tombstones {
 public:
  // `limit` > 0.
  explicit Tombstones(size_t limit) : limit_(limit) {}

  // A UID that is there already keeps its age.
  void Add(const std::string& uid);
  bool Contains(const std::string& uid) const;
  size_t size() const { return keys_.size(); }

 private:
  struct Key {
    uint64_t high = 0;
    uint64_t low = 0;
    bool operator==(const Key&) const = default;
  };

  static Key KeyOf(std::string_view uid);
  size_t Home(const Key& key) const;
  // Where the key is, or the free slot where it would be.
  size_t Find(const Key& key) const;
  void Erase(size_t slot);
  void Grow();

  static constexpr uint32_t kFree = UINT32_MAX;

  size_t limit_;
  std::vector<Key> keys_;  // in the order of removal, from `oldest_` round to before it
  size_t oldest_ = 0;
  std::vector<uint32_t> slots_;  // positions in keys_, by hash, at most half of them taken
};

}  // namespace muster::cluster
