#include "cluster/holdings/snapshot.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/check.hpp"

namespace muster::cluster {
namespace {

void DeriveSums(NodeFree& node, std::span<const DeviceAmount> gpus) {
  node.gpu_compute = 0;
  node.gpu_memory = 0;
  node.gpu_whole = 0;
  node.gpu_most = {};
  for (const DeviceAmount& free : gpus) {
    node.gpu_compute += static_cast<int32_t>(free.compute().value());
    node.gpu_memory += static_cast<int32_t>(free.memory().value());
    if (free == DeviceAmount::All()) ++node.gpu_whole;
    node.gpu_most = node.gpu_most.AtLeast(free);
  }
}

// Position of the device in node.gpus, or their number when it is not among them.
size_t PositionOf(const Node& node, GpuIndex index) {
  // Nearly always devices are numbered from 0 without gaps.
  if (index.value < node.gpus.size() && node.gpus[index.value].index == index) return index.value;
  const auto at =
      std::lower_bound(node.gpus.begin(), node.gpus.end(), index,
                       [](const Gpu& gpu, GpuIndex wanted) { return gpu.index < wanted; });
  if (at == node.gpus.end() || at->index != index) return node.gpus.size();
  return static_cast<size_t>(at - node.gpus.begin());
}

}  // namespace

std::span<const DeviceAmount> FreeTable::gpus(NodeIndex node) const {
  const Chunk& c = chunk(node);
  const uint32_t slot = node.value % kChunk;
  return std::span<const DeviceAmount>(c.gpus).subspan(c.first[slot],
                                                       c.first[slot + 1] - c.first[slot]);
}

void FreeTable::Resize(uint32_t size) {
  MUSTER_CHECK(size >= size_);
  size_ = size;
  chunks_.resize((size + kChunk - 1) / kChunk);
}

FreeTable::Chunk& FreeTable::Writable(NodeIndex node) {
  MUSTER_CHECK(node.value < size_);
  Chunk& c = chunks_[node.value / kChunk].write();
  if (c.token.use_count() > 1) c.token = std::make_shared<const char>();
  return c;
}

void FreeTable::Set(NodeIndex node, const Resources& resources,
                    std::span<const DeviceAmount> gpus) {
  Chunk& c = Writable(node);
  const uint32_t slot = node.value % kChunk;
  c.balance[slot] = resources;
  c.nodes[slot].resources = resources.Positive();
  const uint32_t had = c.first[slot + 1] - c.first[slot];
  const uint32_t count = static_cast<uint32_t>(gpus.size());
  if (had != count) {
    const auto at = c.gpus.begin() + c.first[slot];
    if (had > count) {
      c.gpus.erase(at, at + (had - count));
    } else {
      c.gpus.insert(at, count - had, DeviceAmount());
    }
    // Unsigned wrap-around cancels out when the node has fewer devices than before.
    for (uint32_t i = slot + 1; i <= kChunk; ++i) c.first[i] += count - had;
  }
  std::copy(gpus.begin(), gpus.end(), c.gpus.begin() + c.first[slot]);
  DeriveSums(c.nodes[slot], gpus);
}

bool FreeTable::Fits(const Node& node, const Placement& placement) const {
  if (placement.node.value >= size_) return false;
  if (!at(placement.node).resources.Fits(placement.requests)) return false;
  const std::span<const DeviceAmount> free = gpus(placement.node);
  for (size_t i = 0; i < placement.gpus.size(); ++i) {
    const GpuShare& share = placement.gpus[i];
    if (i > 0 && share.index <= placement.gpus[i - 1].index) return false;
    const size_t position = PositionOf(node, share.index);
    if (position >= free.size()) return false;
    if (share.taken.none() || !free[position].Holds(share.taken)) return false;
  }
  return true;
}

void FreeTable::Take(const Node& node, const Placement& placement) { Move(node, placement, -1); }

void FreeTable::Give(const Node& node, const Placement& placement) { Move(node, placement, 1); }

void FreeTable::Move(const Node& node, const Placement& placement, int sign) {
  Chunk& c = Writable(placement.node);
  const uint32_t slot = placement.node.value % kChunk;
  if (sign > 0) {
    c.balance[slot] += placement.requests;
  } else {
    c.balance[slot] -= placement.requests;
  }
  c.nodes[slot].resources = c.balance[slot].Positive();
  if (placement.gpus.empty()) return;
  const std::span<DeviceAmount> free =
      std::span<DeviceAmount>(c.gpus).subspan(c.first[slot], c.first[slot + 1] - c.first[slot]);
  for (const GpuShare& share : placement.gpus) {
    const size_t position = PositionOf(node, share.index);
    if (position >= free.size() || !node.gpus[position].usable()) continue;
    const DeviceAmount left =
        sign > 0 ? free[position] + share.taken : free[position] - share.taken;
    MUSTER_CHECK(left.Holds({}) && DeviceAmount::All().Holds(left));
    free[position] = left;
  }
  DeriveSums(c.nodes[slot], free);
}

void NodeTable::Resize(uint32_t size) {
  MUSTER_CHECK(size >= size_);
  size_ = size;
  chunks_.resize((size + kChunk - 1) / kChunk);
}

void NodeTable::Set(NodeIndex node, std::shared_ptr<const Node> record) {
  MUSTER_CHECK(node.value < size_);
  Chunk& chunk = chunks_[node.value / kChunk].write();
  const uint64_t bit = uint64_t{1} << node.value % kChunk;
  const auto note = [&](uint64_t& word, bool unsound) {
    word = unsound ? word | bit : word & ~bit;
  };
  note(chunk.unsound, record != nullptr && (!record->ready || record->unschedulable));
  note(chunk.unsound_gpus, record != nullptr && std::any_of(record->gpus.begin(),
                                                            record->gpus.end(), [](const Gpu& gpu) {
                                                              return !gpu.healthy || gpu.cordoned;
                                                            }));
  chunk.nodes[node.value % kChunk] = std::move(record);
}

}  // namespace muster::cluster
