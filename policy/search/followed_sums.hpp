// FollowedSums: a number of each node that depends on what is free there, summed up by domain
// (internal to policy/).
//
// A node's number is kept while its chunk of 64 nodes stays (its token) and the fabric does. So
// asking again costs one comparison per chunk, a count of the nodes of those that changed, and a
// sum up for each count that did. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

class FollowedSums {
 public:
  // What is kept of that chunk says nothing any more.
  void ForgetChunk(uint32_t chunk) {
    if (chunk < tokens_.size()) tokens_[chunk] = nullptr;
  }
  void ForgetAll() { tokens_.clear(); }
  // `count`: the number of a node.
  template <typename Count>
  const topology::DomainSums& Follow(const cluster::FreeTable& free,
                                     const std::shared_ptr<const topology::Fabric>& fabric,
                                     const Count& count) {
    constexpr uint32_t kChunk = cluster::FreeTable::kChunk;
    if (sums_ == nullptr || sums_->fabric() != fabric) {
      sums_ = std::make_unique<topology::DomainSums>(fabric);
      tokens_.clear();
    }
    tokens_.resize(free.chunks());
    for (uint32_t chunk = 0; chunk < free.chunks(); ++chunk) {
      if (tokens_[chunk] == free.token(chunk)) continue;
      tokens_[chunk] = free.token(chunk);
      const uint32_t end = std::min((chunk + 1) * kChunk, free.size());
      for (cluster::NodeIndex node{chunk * kChunk}; node.value < end; ++node.value)
        sums_->Set(node, count(node));
    }
    return *sums_;
  }
  const topology::DomainSums& sums() const { return *sums_; }  // after Follow
  // Of what Follow would keep nothing.
  bool IsOf(const std::shared_ptr<const topology::Fabric>& fabric) const {
    return sums_ != nullptr && sums_->fabric() == fabric;
  }

 private:
  std::vector<cluster::FreeTable::Token> tokens_;  // of what is counted, by chunk
  std::unique_ptr<topology::DomainSums> sums_;
};

}  // namespace muster::policy
