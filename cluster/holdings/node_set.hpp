// NodeSet: some of the nodes of a Snapshot, by NodeIndex, in words of FreeTable::kChunk. Plain
// value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/holdings/snapshot.hpp"

namespace muster::cluster {

class NodeSet {
 public:
  static_assert(FreeTable::kChunk == 64, "a word is a chunk");

  void Add(NodeIndex node) {
    const size_t chunk = node.value / FreeTable::kChunk;
    if (chunk >= words_.size()) words_.resize(chunk + 1);
    words_[chunk] |= Bit(node);
  }
  void Remove(NodeIndex node) {
    const size_t chunk = node.value / FreeTable::kChunk;
    if (chunk < words_.size()) words_[chunk] &= ~Bit(node);
  }
  // All of another one.
  void Join(const NodeSet& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
    for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }
  // They have a node in common.
  bool Meets(const NodeSet& other) const {
    const size_t both = std::min(words_.size(), other.words_.size());
    for (size_t i = 0; i < both; ++i) {
      if ((words_[i] & other.words_[i]) != 0) return true;
    }
    return false;
  }
  bool Contains(NodeIndex node) const {
    return (Word(node.value / FreeTable::kChunk) & Bit(node)) != 0;
  }
  // The nodes of one chunk, the lowest index in the lowest bit.
  uint64_t Word(uint32_t chunk) const { return chunk < words_.size() ? words_[chunk] : 0; }
  // Those with a node in them, rising.
  std::vector<uint32_t> Chunks() const {
    std::vector<uint32_t> chunks;
    for (uint32_t chunk = 0; chunk < words_.size(); ++chunk) {
      if (words_[chunk] != 0) chunks.push_back(chunk);
    }
    return chunks;
  }
  // There and beyond it has no node.
  uint32_t end_chunk() const { return static_cast<uint32_t>(words_.size()); }
  // All indices of the chunk that a table of `size` nodes has are in it.
  bool Covers(uint32_t chunk, uint32_t size) const {
    const uint32_t nodes = size - chunk * FreeTable::kChunk;
    const uint64_t all = nodes >= FreeTable::kChunk ? ~uint64_t{0} : (uint64_t{1} << nodes) - 1;
    return (Word(chunk) & all) == all;
  }
  // The lowest index; invalid when it is empty.
  NodeIndex first() const {
    for (uint32_t chunk = 0; chunk < words_.size(); ++chunk) {
      if (words_[chunk] == 0) continue;
      const auto bit = static_cast<uint32_t>(std::countr_zero(words_[chunk]));
      return NodeIndex{chunk * FreeTable::kChunk + bit};
    }
    return {};
  }
  // All of them, rising.
  std::vector<NodeIndex> Nodes() const {
    std::vector<NodeIndex> nodes;
    nodes.reserve(count());
    for (const uint32_t chunk : Chunks()) {
      for (uint64_t left = words_[chunk]; left != 0; left &= left - 1)
        nodes.push_back(
            NodeIndex{chunk * FreeTable::kChunk + static_cast<uint32_t>(std::countr_zero(left))});
    }
    return nodes;
  }
  uint32_t count() const {
    uint32_t count = 0;
    for (const uint64_t word : words_) count += static_cast<uint32_t>(std::popcount(word));
    return count;
  }

 private:
  static uint64_t Bit(NodeIndex node) { return uint64_t{1} << (node.value % FreeTable::kChunk); }

  std::vector<uint64_t> words_;
};

// The nodes of either; null: none.
inline std::shared_ptr<const NodeSet> Together(const std::shared_ptr<const NodeSet>& a,
                                               const std::shared_ptr<const NodeSet>& b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  NodeSet both = *a;
  both.Join(*b);
  return std::make_shared<const NodeSet>(std::move(both));
}

}  // namespace muster::cluster
