// Search: the best node for one pod of a shape, remembered chunk by chunk (internal to policy/).
//
// A shape's best node in a chunk of 64 stays the best as long as the chunk's free numbers (its
// token) and node records stay. So a decision costs one comparison per chunk and a look at the
// nodes of those that changed; a gang of k costs N + k · (N / 64 + 64) looks. What is remembered is
// never needed for the answer, only for its price. A search within a set of nodes uses it for
// chunks that lie wholly in the set; for the others it remembers as much, for itself alone, and
// looks only at nodes of the set. So it does not matter how the nodes of a rack lie in the table.
//
// What is kept from some searches and not from others (GangTerms::kept) has a memory of its own.
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

#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "cluster/holdings/transaction.hpp"
#include "cluster/records/pod.hpp"
#include "policy/fit/eligibility.hpp"
#include "policy/fit/pod_conditions.hpp"
#include "policy/search/devices.hpp"
#include "policy/search/pod_shape.hpp"
#include "policy/search/score.hpp"
#include "policy/search/slots.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/terms/node_filter.hpp"
#include "policy/terms/options.hpp"

namespace muster::policy {

struct NodeChoice {
  cluster::NodeIndex node;  // invalid: no node fits
  Score score;
};

// The best node of one chunk while its token is `token`; null: not known.
struct ChunkBest {
  cluster::FreeTable::Token token;
  NodeChoice best;
  uint64_t alike = 0;  // as NodeSet::Word: those whose GPUs are as good (SameGpus), itself too
};

struct ChunkCauses;  // causes.cpp

// What is remembered of pods that are alike for placement (ShapeLess).
struct Shape {
  const cluster::PodSpec* spec = nullptr;
  const std::vector<uint8_t>* bars = nullptr;                  // Eligibility::BarsFor
  const std::vector<cluster::DeviceAmount>* shares = nullptr;  // Eligibility::SharesFor
  std::array<std::vector<ChunkBest>, 4> chunks;                // by Search::memory
  std::array<Slots, 4> slots;                                  // likewise
  // What keeps it off nodes (TellCauses), likewise, by chunk; null: not known.
  using Causes = std::vector<std::shared_ptr<const ChunkCauses>>;
  std::array<Causes, 4> causes;
  std::vector<Shape*>* told =
      nullptr;  // of its ShapeMemory: shapes with causes, once for each list

  // The list with room for so many chunks. Where too many shapes have one, all others are dropped.
  Causes& CausesFor(size_t memory, uint32_t count);

  // What is remembered of that chunk is of other records.
  void ForgetChunk(size_t memory, uint32_t chunk);
};

class ShapeMemory {
 public:
  explicit ShapeMemory(std::shared_ptr<const topology::MachineProfiles> profiles = nullptr)
      : eligibility_(std::move(profiles)) {}
  // At the start of a call: drops what is about other node records, and everything when too many
  // shapes have been seen.
  void Follow(const cluster::NodeTable& nodes);
  // The same where other nodes are kept than at the last call with this `memory`.
  void FollowKept(size_t memory, const cluster::NodeSet& kept);
  // Stays where it is until the next Follow.
  Shape& ShapeOf(const std::shared_ptr<const cluster::PodSpec>& spec);
  const Eligibility& eligibility() const { return eligibility_; }

 private:
  Eligibility eligibility_;
  std::array<cluster::NodeSet, 4> kept_;  // by Search::memory
  // The key holds the spec, so that it lives as long as its shape.
  std::map<std::shared_ptr<const cluster::PodSpec>, Shape, ShapeLess> shapes_;
  std::vector<Shape*> told_;  // of shapes_: Shape::told
};

class Search {
 public:
  // `conditions`: null where pods demand nothing of each other.
  // `within`: no other node is there for this search; null: all are. `terms`: of the gang, its
  // queue and what is kept from it count.
  Search(cluster::Transaction& tx, const Eligibility& eligibility, Strategy strategy,
         NodeFilter filter, const GangTerms& terms, const cluster::NodeSet* within,
         PodConditions* conditions = nullptr)
      : tx_(tx),
        eligibility_(eligibility),
        strategy_(strategy),
        filter_(filter),
        terms_(terms),
        within_(within),
        conditions_(conditions),
        chunks_(within == nullptr ? std::vector<uint32_t>() : within->Chunks()) {}

  // The same within other nodes; null: all of them.
  Search Within(const cluster::NodeSet* nodes) const {
    return {tx_, eligibility_, strategy_, filter_, terms_, nodes, conditions_};
  }
  // The score of `node` for one pod, given what is free now; nothing when it does not fit there.
  std::optional<Score> ScoreOn(const Shape& shape, cluster::NodeIndex node) const;
  // The best of all nodes but `excluded`, which is ordered.
  NodeChoice Find(Shape& shape, const std::vector<cluster::NodeIndex>& excluded) const;
  // Calls visit(node) for the nodes whose GPUs are as good for the pod as those of the best one of
  // all, rising. For a search that is not within a set of nodes; `best`: what Find gave.
  template <typename Visit>
  void EachAlike(Shape& shape, const std::vector<cluster::NodeIndex>& excluded,
                 const NodeChoice& best, const Visit& visit) const {
    for (uint32_t chunk = 0; chunk < tx_.free().chunks(); ++chunk) {
      for (uint64_t left = AlikeIn(shape, chunk, excluded, best); left != 0; left &= left - 1)
        visit(cluster::NodeIndex{chunk * cluster::FreeTable::kChunk +
                                 static_cast<uint32_t>(std::countr_zero(left))});
    }
  }
  // Places one pod where it fits. `rails`: see ChooseDevices.
  void Place(const Shape& shape, const cluster::PodUid& pod, cluster::NodeIndex node,
             DeviceOrder order, GangRails* rails) const;

  // Bits of Bar that hold for the node and count here.
  uint8_t BarsOn(const Shape& shape, cluster::NodeIndex node) const {
    if (within_ != nullptr && !within_->Contains(node)) return Bar::kNoNode;
    const uint8_t bars = (*shape.bars)[node.value] & Bar::Counting(filter_);
    const bool kept = terms_.kept != nullptr && terms_.kept->Contains(node);
    return static_cast<uint8_t>(kept ? bars | Bar::kKept : bars);
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
  // Calls visit(chunk, whole) for the chunks with nodes of this search, rising; `whole`: with all
  // of the chunk's.
  template <typename Visit>
  void EachChunk(const Visit& visit) const {
    const uint32_t size = tx_.base().size();
    const uint32_t all = (size + cluster::FreeTable::kChunk - 1) / cluster::FreeTable::kChunk;
    const size_t end = within_ == nullptr ? all : chunks_.size();
    for (size_t i = 0; i < end; ++i) {
      const uint32_t chunk = within_ == nullptr ? static_cast<uint32_t>(i) : chunks_[i];
      if (chunk >= all) return;
      visit(chunk, within_ == nullptr || within_->Covers(chunk, size));
    }
  }
  // Calls visit(node) for the nodes of this search in that chunk, rising, until it gives false;
  // gives what the last call gave.
  template <typename Visit>
  bool EachNodeOf(uint32_t chunk, const Visit& visit) const {
    uint64_t left = within_ == nullptr ? ~uint64_t{0} : within_->Word(chunk);
    for (; left != 0; left &= left - 1) {
      const cluster::NodeIndex node{chunk * cluster::FreeTable::kChunk +
                                    static_cast<uint32_t>(std::countr_zero(left))};
      if (node.value >= tx_.base().size()) return true;
      if (!visit(node)) return false;
    }
    return true;
  }
  // EachNodeOf for all chunks, until visit gives false.
  template <typename Visit>
  void EachNode(const Visit& visit) const {
    bool more = true;
    EachChunk([&](uint32_t chunk, bool /*whole*/) { more = more && EachNodeOf(chunk, visit); });
  }
  cluster::Transaction& tx() const { return tx_; }
  const Eligibility& eligibility() const { return eligibility_; }
  Strategy strategy() const { return strategy_; }
  NodeFilter filter() const { return filter_; }
  // What pods demand of each other; null: nothing.
  PodConditions* conditions() const { return conditions_; }
  // As Find, without the nodes that the demand excludes and those that other pods close to it.
  cluster::NodeIndex FindFor(Shape& shape, const Demand& demand) const;
  // Other pods close the node to it.
  bool Closed(const Demand& demand, cluster::NodeIndex node) const;
  // Where shapes remember what such searches found.
  size_t memory() const { return MemoryOf(filter_, terms_.kept != nullptr); }
  static size_t MemoryOf(NodeFilter filter, bool some_kept) {
    return static_cast<size_t>(filter) + (some_kept ? 2U : 0U);
  }

 private:
  using Excluded = std::vector<cluster::NodeIndex>::const_iterator;
  // Its token is null.
  ChunkBest FindIn(const Shape& shape, uint32_t chunk, Excluded first, Excluded last) const;
  NodeChoice BestIn(const Shape& shape, uint32_t chunk, Excluded first, Excluded last,
                    ChunkBest& known) const;
  uint64_t AlikeIn(Shape& shape, uint32_t chunk, const std::vector<cluster::NodeIndex>& excluded,
                   const NodeChoice& best) const;

  cluster::Transaction& tx_;
  const Eligibility& eligibility_;
  const Strategy strategy_;
  const NodeFilter filter_;
  const GangTerms& terms_;
  const cluster::NodeSet* const within_;
  PodConditions* const conditions_;
  const std::vector<uint32_t> chunks_;  // of within_
  // As Shape::chunks, by place in chunks_, where only a part of the chunk is within_: for this
  // search alone.
  mutable std::map<const Shape*, std::vector<ChunkBest>> partly_;
};

}  // namespace muster::policy
