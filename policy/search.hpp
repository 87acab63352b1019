// Search: the best node for one pod of a shape, remembered chunk by chunk (internal to policy/).
//
// A shape's best node in a chunk of 64 stays the best as long as the chunk's free numbers (its
// token) and node records stay. So a decision costs one comparison per chunk and a look at the
// nodes of those that changed; a gang of k costs N + k · (N / 64 + 64) looks. What is remembered is
// never needed for the answer, only for its price. A search within a set of nodes uses it for
// chunks that lie wholly in the set; for the others it remembers as much, for itself alone, and
// looks only at nodes of the set. So it does not matter how the nodes of a rack lie in the table.
//
// ShapeMemory belongs to one Placer, a Search to one PlaceGang call; neither is thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/node_set.hpp"
#include "cluster/pod.hpp"
#include "cluster/snapshot.hpp"
#include "cluster/transaction.hpp"
#include "policy/devices.hpp"
#include "policy/eligibility.hpp"
#include "policy/placement.hpp"
#include "policy/pod_shape.hpp"
#include "policy/score.hpp"
#include "policy/slots.hpp"

namespace muster::policy {

struct NodeChoice {
  cluster::NodeIndex node;  // invalid: no node fits
  Score score;
};

// The best node of one chunk while its token is `token`; null: not known.
struct ChunkBest {
  cluster::FreeTable::Token token;
  NodeChoice best;
};

// What is remembered of pods that are alike for placement (ShapeLess).
struct Shape {
  const cluster::PodSpec* spec = nullptr;
  const std::vector<uint8_t>* bars = nullptr;                  // Eligibility::BarsFor
  const std::vector<cluster::DeviceAmount>* shares = nullptr;  // Eligibility::SharesFor
  std::array<std::vector<ChunkBest>, 2> chunks;                // by NodeFilter
  std::array<Slots, 2> slots;                                  // likewise
};

class ShapeMemory {
 public:
  explicit ShapeMemory(std::shared_ptr<const topology::MachineProfiles> profiles = nullptr)
      : eligibility_(std::move(profiles)) {}
  // At the start of a call: drops what is about other node records, and everything when too many
  // shapes have been seen.
  void Follow(const cluster::NodeTable& nodes);
  // Stays where it is until the next Follow.
  Shape& ShapeOf(const std::shared_ptr<const cluster::PodSpec>& spec);
  const Eligibility& eligibility() const { return eligibility_; }

 private:
  Eligibility eligibility_;
  // The key holds the spec, so that it lives as long as its shape.
  std::map<std::shared_ptr<const cluster::PodSpec>, Shape, ShapeLess> shapes_;
};

class Search {
 public:
  // `within`: no other node is there for this search; null: all are.
  Search(cluster::Transaction& tx, const Eligibility& eligibility, Strategy strategy,
         NodeFilter filter, const std::string& queue, const cluster::NodeSet* within)
      : tx_(tx),
        eligibility_(eligibility),
        strategy_(strategy),
        filter_(filter),
        queue_(queue),
        within_(within) {}

  // The same within other nodes; null: all of them.
  Search Within(const cluster::NodeSet* nodes) const {
    return {tx_, eligibility_, strategy_, filter_, queue_, nodes};
  }
  // The score of `node` for one pod, given what is free now; nothing when it does not fit there.
  std::optional<Score> ScoreOn(const Shape& shape, cluster::NodeIndex node) const;
  // The best of all nodes but `excluded`, which is ordered.
  NodeChoice Find(Shape& shape, const std::vector<cluster::NodeIndex>& excluded) const;
  // Places one pod where it fits. `rails`: see ChooseDevices.
  void Place(const Shape& shape, const cluster::PodUid& pod, cluster::NodeIndex node,
             DeviceOrder order, GangRails* rails) const;

  // Bits of Bar that hold for the node and count here.
  uint8_t BarsOn(const Shape& shape, cluster::NodeIndex node) const {
    if (within_ != nullptr && !within_->Contains(node)) return Bar::kNoNode;
    return (*shape.bars)[node.value] & Bar::Counting(filter_);
  }
  // Null: not known.
  const DeviceLinks* LinksOn(cluster::NodeIndex node) const {
    return eligibility_.facts(node).links.get();
  }
  // The devices of a node that is there.
  DeviceView DevicesOn(const Shape& shape, cluster::NodeIndex node) const {
    return {*tx_.node(node), tx_.free().gpus(node), shape.spec->gpus, (*shape.shares)[node.value],
            LinksOn(node)};
  }
  // Calls visit(node) for the nodes of this search, rising, until it gives false.
  template <typename Visit>
  void EachNode(const Visit& visit) const {
    constexpr uint32_t kChunk = cluster::FreeTable::kChunk;
    const uint32_t size = tx_.base().size();
    for (uint32_t chunk = 0; chunk * kChunk < size; ++chunk) {
      uint64_t left = within_ == nullptr ? ~uint64_t{0} : within_->Word(chunk);
      for (; left != 0; left &= left - 1) {
        const cluster::NodeIndex node{chunk * kChunk +
                                      static_cast<uint32_t>(std::countr_zero(left))};
        if (node.value >= size || !visit(node)) return;
      }
    }
  }
  cluster::Transaction& tx() const { return tx_; }
  Strategy strategy() const { return strategy_; }
  NodeFilter filter() const { return filter_; }

 private:
  using Excluded = std::vector<cluster::NodeIndex>::const_iterator;
  NodeChoice FindIn(const Shape& shape, uint32_t chunk, Excluded first, Excluded last) const;

  cluster::Transaction& tx_;
  const Eligibility& eligibility_;
  const Strategy strategy_;
  const NodeFilter filter_;
  const std::string& queue_;
  const cluster::NodeSet* const within_;
  // As Shape::chunks, for chunks that lie partly in within_: for this search alone.
  mutable std::map<const Shape*, std::vector<ChunkBest>> partly_;
};

}  // namespace muster::policy
