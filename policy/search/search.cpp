#include "policy/search/search.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "cluster/base/check.hpp"

namespace muster::policy {

using cluster::FreeTable;
using cluster::NodeFree;
using cluster::NodeIndex;
using cluster::PodSpec;

namespace {

// Shapes remembered at once, about 8 KB each at 5,000 nodes; a cluster's pods have some hundreds.
constexpr size_t kMostShapes = 1024;
// Lists of causes remembered at once, about 40 KB each at 5,000 nodes. Only shapes that found no
// room have one.
constexpr size_t kMostTold = 64;

void Improve(NodeChoice& best, const NodeChoice& other) {
  if (other.node.valid() && (!best.node.valid() || other.score < best.score)) best = other;
}

}  // namespace

Shape::Causes& Shape::CausesFor(size_t memory, uint32_t count) {
  if (causes[memory].empty()) {
    if (told->size() >= kMostTold) {
      for (Shape* other : *told) other->causes = {};
      told->clear();
    }
    told->push_back(this);
  }
  causes[memory].resize(count);
  return causes[memory];
}

void Shape::ForgetChunk(size_t memory, uint32_t chunk) {
  if (chunk < chunks[memory].size()) chunks[memory][chunk].token = nullptr;
  if (chunk < causes[memory].size()) causes[memory][chunk] = nullptr;
  slots[memory].ForgetChunk(chunk);
}

void ShapeMemory::Follow(const cluster::NodeTable& nodes) {
  if (shapes_.size() > kMostShapes) {
    shapes_.clear();
    told_.clear();
    eligibility_.Forget();
  }
  const std::vector<uint32_t> changed = eligibility_.Follow(nodes);
  if (changed.empty()) return;
  for (auto& [spec, shape] : shapes_) {
    for (const uint32_t chunk : changed) {
      for (size_t memory = 0; memory < shape.chunks.size(); ++memory)
        shape.ForgetChunk(memory, chunk);
    }
  }
}

void ShapeMemory::FollowKept(size_t memory, const cluster::NodeSet& kept) {
  cluster::NodeSet& before = kept_[memory];
  const uint32_t chunks = std::max(before.end_chunk(), kept.end_chunk());
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    if (before.Word(chunk) == kept.Word(chunk)) continue;
    for (auto& [spec, shape] : shapes_) shape.ForgetChunk(memory, chunk);
  }
  before = kept;
}

Shape& ShapeMemory::ShapeOf(const std::shared_ptr<const PodSpec>& spec) {
  const auto [at, added] = shapes_.try_emplace(spec);
  Shape& shape = at->second;
  shape.told = &told_;
  if (added) {
    shape.spec = spec.get();
    shape.bars = &eligibility_.BarsFor(spec->constraints);
    shape.shares = &eligibility_.SharesFor(spec->gpus);
  }
  return shape;
}

std::optional<Score> Search::ScoreOn(const Shape& shape, NodeIndex node) const {
  if (BarsOn(shape, node) != 0) return std::nullopt;
  const PodSpec& spec = *shape.spec;
  const NodeFree& free = tx_.free().at(node);
  if (!free.resources.Fits(spec.requests)) return std::nullopt;
  DeviceUse use;
  if (!spec.gpus.none()) {
    const cluster::DeviceAmount& share = (*shape.shares)[node.value];
    if (share == cluster::DeviceAmount::All()) {
      if (free.gpu_whole < spec.gpus.count) return std::nullopt;
      const auto& links = eligibility_.facts(node).links;
      if (links != nullptr && links->turns_away() &&
          !links->Fits(tx_.free().gpus(node), static_cast<size_t>(spec.gpus.count)))
        return std::nullopt;
      use.whole = spec.gpus.count;
      use.milli = spec.gpus.count * static_cast<int32_t>(cluster::kWholeGpu.value());
      use.ring = RingOf(DevicesOn(shape, node));
      if (use.ring != 0 && spec.one_gpu_container()) use.astray = AstrayOf(DevicesOn(shape, node));
    } else {
      // (kDiffers is within everything.)
      if (share.none() ? share != Eligibility::kDiffers : !free.gpu_most.Holds(share))
        return std::nullopt;
      const std::optional<DeviceUse> found =
          UseOf(DevicesOn(shape, node), DeviceOrderOf(spec.gpus, DeviceOrderOf(strategy_)));
      if (!found) return std::nullopt;
      use = *found;
    }
  }
  return ScoreOf(spec, free, eligibility_.facts(node), use, NodeFillingOf(spec.gpus, strategy_));
}

ChunkBest Search::FindIn(const Shape& shape, uint32_t chunk, Excluded first, Excluded last) const {
  ChunkBest found;
  NodeChoice& best = found.best;
  const uint32_t begin = chunk * FreeTable::kChunk;
  const uint32_t size = tx_.base().size();
  uint64_t left = within_ == nullptr ? ~uint64_t{0} : within_->Word(chunk);
  for (; left != 0; left &= left - 1) {
    const NodeIndex node{begin + static_cast<uint32_t>(std::countr_zero(left))};
    if (node.value >= size) break;
    while (first != last && *first < node) ++first;
    if (first != last && *first == node) continue;
    const std::optional<Score> score = ScoreOn(shape, node);
    if (!score) continue;
    const bool better = !best.node.valid() || *score < best.score;
    if (best.node.valid() && SameGpus(*score, best.score)) {
      found.alike |= left & -left;
    } else if (better) {
      found.alike = left & -left;
    }
    if (better) best = {node, *score};
  }
  return found;
}

// `first` to `last`: the excluded nodes of the chunk.
NodeChoice Search::BestIn(const Shape& shape, uint32_t chunk, Excluded first, Excluded last,
                          ChunkBest& known) const {
  if (first != last) return FindIn(shape, chunk, first, last).best;
  const FreeTable::Token& token = tx_.free().token(chunk);
  if (known.token != token) {
    known = FindIn(shape, chunk, first, last);
    known.token = token;
  }
  return known.best;
}

uint64_t Search::AlikeIn(Shape& shape, uint32_t chunk, const std::vector<NodeIndex>& excluded,
                         const NodeChoice& best) const {
  const NodeIndex begin{chunk * FreeTable::kChunk};
  const auto first = std::lower_bound(excluded.begin(), excluded.end(), begin);
  const auto last =
      std::lower_bound(first, excluded.end(), NodeIndex{begin.value + FreeTable::kChunk});
  // Find has looked at it.
  const ChunkBest found =
      first == last ? shape.chunks[memory()][chunk] : FindIn(shape, chunk, first, last);
  const bool alike = found.best.node.valid() && SameGpus(found.best.score, best.score);
  return alike ? found.alike : 0;
}

NodeChoice Search::Find(Shape& shape, const std::vector<NodeIndex>& excluded) const {
  std::vector<ChunkBest>& whole = shape.chunks[memory()];
  const uint32_t chunks = tx_.free().chunks();
  whole.resize(chunks);
  std::vector<ChunkBest>* partly = nullptr;
  if (within_ != nullptr) {
    partly = &partly_[&shape];
    partly->resize(chunks_.size());
  }
  NodeChoice best;
  Excluded next = excluded.begin();
  const size_t end = within_ == nullptr ? chunks : chunks_.size();
  for (size_t i = 0; i < end; ++i) {
    const auto chunk = within_ == nullptr ? static_cast<uint32_t>(i) : chunks_[i];
    if (chunk >= chunks) break;
    while (next != excluded.end() && next->value / FreeTable::kChunk < chunk) ++next;
    const Excluded first = next;
    while (next != excluded.end() && next->value / FreeTable::kChunk == chunk) ++next;
    const bool all = within_ == nullptr || within_->Covers(chunk, tx_.base().size());
    Improve(best, BestIn(shape, chunk, first, next, all ? whole[chunk] : (*partly)[i]));
  }
  return best;
}

NodeIndex Search::FindFor(Shape& shape, const Demand& demand) const {
  if (conditions_ == nullptr) return Find(shape, demand.excluded).node;
  return Find(shape, conditions_->ClosedTo(demand)).node;
}

bool Search::Closed(const Demand& demand, NodeIndex node) const {
  return conditions_ != nullptr && conditions_->On(demand, node) != PodConditions::Bar::kNone;
}

void Search::Place(const Shape& shape, const cluster::PodUid& pod, NodeIndex node,
                   DeviceOrder order, GangRails* rails) const {
  std::optional<RailsOnNode> here;
  if (rails != nullptr) here.emplace(RailsOnNode{*rails, node});
  auto devices = ChooseDevices(DevicesOn(shape, node), DeviceOrderOf(shape.spec->gpus, order),
                               here ? &*here : nullptr);
  MUSTER_CHECK(devices.has_value());  // ScoreOn found enough of them
  tx_.Place({pod, node, shape.spec->requests, *std::move(devices)}, terms_.queue);
}

}  // namespace muster::policy
