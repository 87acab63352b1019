// Snapshot: the cluster at one moment, immutable. FreeTable: the numbers in it that change with
// every placement.
//
// A Snapshot is taken by ClusterState, costs O(nodes / 64) and may be read from any thread. Nodes
// are addressed by NodeIndex; indices below size() may be empty slots (node(i) is null).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cluster/base/shared_chunk.hpp"
#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/pod_field.hpp"
#include "cluster/holdings/usage.hpp"
#include "cluster/records/node.hpp"

namespace muster::cluster {

// What is free on one node. Never negative: of what a node is over-committed in, nothing is free.
struct NodeFree {
  Resources resources;
  // Of devices that are usable: Σ free thousandths of compute and of memory; how many have nothing
  // taken of them; the most compute and the most memory free on one, not always the same one.
  int32_t gpu_compute = 0;
  int32_t gpu_memory = 0;
  int16_t gpu_whole = 0;
  DeviceAmount gpu_most;

  // What of both is free.
  int32_t gpu_total() const { return std::min(gpu_compute, gpu_memory); }
};

// Free numbers of all nodes, in chunks of 64 that are copied when written while shared: copying the
// table copies pointers only. Not thread-safe while written; share copies, not the object.
class FreeTable {
 public:
  static constexpr uint32_t kChunk = 64;

  uint32_t size() const { return size_; }
  const NodeFree& at(NodeIndex node) const { return chunk(node).nodes[node.value % kChunk]; }
  // Free of each device, in the order of Node::gpus; nothing of a device that is not usable.
  std::span<const DeviceAmount> gpus(NodeIndex node) const;

  // Equal tokens mean equal numbers in that chunk of nodes. A token that is held is not given to
  // other numbers, so what was derived from a chunk may be kept beside its token.
  using Token = std::shared_ptr<const char>;
  uint32_t chunks() const { return static_cast<uint32_t>(chunks_.size()); }
  const Token& token(uint32_t chunk) const { return chunks_[chunk].read().token; }

  // Makes room for `size` nodes; new ones have nothing free.
  void Resize(uint32_t size);
  // Sets a node's numbers and derives the sums; `gpus` in the order of Node::gpus. `resources`
  // may be below zero (more is held than the node has): zero is shown, but giving back has to make
  // up for it first.
  void Set(NodeIndex node, const Resources& resources, std::span<const DeviceAmount> gpus);
  // True when all of `placement` is free on `node`: its resources and, device by device, its
  // shares.
  bool Fits(const Node& node, const Placement& placement) const;
  // Takes a placement's amounts, or gives back what is held; one undoes the other exactly. The
  // devices are looked up in `node`; those that it does not have or that are not usable have
  // nothing to take or to give.
  void Take(const Node& node, const Placement& placement);
  void Give(const Node& node, const Placement& placement);

 private:
  struct Chunk {
    std::array<NodeFree, kChunk> nodes;
    std::array<Resources, kChunk> balance;     // what `nodes` shows of it is never below zero
    std::array<uint32_t, kChunk + 1> first{};  // node i has gpus[first[i]] … gpus[first[i + 1] - 1]
    std::vector<DeviceAmount> gpus;
    Token token = std::make_shared<const char>();
  };
  const Chunk& chunk(NodeIndex node) const { return chunks_[node.value / kChunk].read(); }
  Chunk& Writable(NodeIndex node);
  void Move(const Node& node, const Placement& placement, int sign);

  uint32_t size_ = 0;
  std::vector<SharedChunk<Chunk>> chunks_;
};

// The records of all nodes, in chunks like those of FreeTable: a copy costs O(nodes / 64), and so
// does finding what differs between two copies. Not thread-safe while written; share copies.
class NodeTable {
 public:
  static constexpr uint32_t kChunk = FreeTable::kChunk;

  uint32_t size() const { return size_; }
  // Null: the slot is empty.
  const std::shared_ptr<const Node>& operator[](size_t i) const {
    return chunks_[i / kChunk].read().nodes[i % kChunk];
  }
  uint32_t chunks() const { return static_cast<uint32_t>(chunks_.size()); }
  // Nothing in that chunk differs. (False: something may.)
  bool SameChunk(const NodeTable& other, uint32_t chunk) const {
    return chunk < other.chunks() && chunks_[chunk].same(other.chunks_[chunk]);
  }

  // Of that chunk, the lowest index in the lowest bit: nodes that are not ready or cordoned; with
  // `gpus` also those with a GPU that is unhealthy or cordoned.
  uint64_t Unsound(uint32_t chunk, bool gpus) const {
    const Chunk& of = chunks_[chunk].read();
    return of.unsound | (gpus ? of.unsound_gpus : 0);
  }

  void Resize(uint32_t size);
  void Set(NodeIndex node, std::shared_ptr<const Node> record);

 private:
  struct Chunk {
    std::array<std::shared_ptr<const Node>, kChunk> nodes;
    uint64_t unsound = 0;
    uint64_t unsound_gpus = 0;
  };
  uint32_t size_ = 0;
  std::vector<SharedChunk<Chunk>> chunks_;
};

class Snapshot {
 public:
  // `usage` null: nobody holds anything, as far as is asked. `pods` null: no pod has rules.
  Snapshot(NodeTable nodes, FreeTable free, uint64_t generation, uint64_t layout,
           std::shared_ptr<const UsageTable> usage = nullptr,
           std::shared_ptr<const PodField> pods = nullptr)
      : nodes_(std::move(nodes)),
        free_(std::move(free)),
        generation_(generation),
        layout_(layout),
        usage_(usage != nullptr ? std::move(usage) : std::make_shared<const UsageTable>()),
        pods_(std::move(pods)) {}

  uint32_t size() const { return nodes_.size(); }
  const Node* node(NodeIndex index) const { return nodes_[index.value].get(); }
  const FreeTable& free() const { return free_; }
  const NodeTable& nodes() const { return nodes_; }
  // ClusterState::usage() then.
  const UsageTable& usage() const { return *usage_; }
  // Null: no pod that is known of has rules among pods.
  const std::shared_ptr<const PodField>& pods() const { return pods_; }
  // Changes with every change of the cluster, and only then.
  uint64_t generation() const { return generation_; }
  // Changes when a node record changes (labels, taints, devices, …) and never for a placement.
  uint64_t layout() const { return layout_; }

 private:
  NodeTable nodes_;
  FreeTable free_;
  uint64_t generation_ = 0;
  uint64_t layout_ = 0;
  std::shared_ptr<const UsageTable> usage_;
  std::shared_ptr<const PodField> pods_;
};

}  // namespace muster::cluster
