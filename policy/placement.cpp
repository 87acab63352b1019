#include "policy/placement.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "policy/devices.hpp"
#include "policy/eligibility.hpp"
#include "policy/score.hpp"

namespace muster::policy {

using cluster::FreeTable;
using cluster::NodeIndex;
using cluster::PodSpec;
using cluster::Transaction;

namespace {

// Specs remembered at once; beyond it everything is forgotten and learnt again.
constexpr size_t kMostSpecs = 512;

struct Best {
  NodeIndex node;  // invalid: nothing fits
  Score score;
};

// The best node of one chunk, as long as its token stays the same.
struct ChunkBest {
  FreeTable::Token token;
  Best best;
};

struct SpecMemory {
  std::shared_ptr<const PodSpec> spec;  // held, so that its address is not given to another one
  Eligibility eligibility;
  std::vector<ChunkBest> chunks[2];  // by NodeFilter
};

}  // namespace

struct Placer::Memory {
  std::shared_ptr<const cluster::NodeTable> nodes;
  std::vector<uint32_t> ranks;
  std::unordered_map<const PodSpec*, SpecMemory> specs;

  // Everything that is remembered is about one table of node records.
  void Follow(const cluster::Snapshot& snapshot) {
    if (nodes == snapshot.nodes()) return;
    nodes = snapshot.nodes();
    ranks = NameRanks(*nodes);
    specs.clear();
  }
  SpecMemory& Of(const std::shared_ptr<const PodSpec>& spec) {
    const auto found = specs.find(spec.get());
    if (found != specs.end()) return found->second;
    if (specs.size() >= kMostSpecs) specs.clear();
    SpecMemory& memory = specs[spec.get()];
    memory.spec = spec;
    memory.eligibility = Judge(*spec, *nodes);
    return memory;
  }
};

namespace {

// Looks for nodes on behalf of one PlaceGang call.
class Search {
 public:
  Search(Transaction& tx, const std::vector<uint32_t>& ranks, Strategy strategy, NodeFilter filter)
      : tx_(tx), ranks_(ranks), strategy_(strategy), filter_(filter) {}

  // The room on a node for one pod: nothing when it does not fit, else the free milli of the device
  // that a share takes.
  std::optional<int16_t> RoomOn(const SpecMemory& memory, NodeIndex node) const {
    if (Barred(memory, node)) return std::nullopt;
    const cluster::NodeFree& free = tx_.free().at(node);
    if (!free.resources.Fits(memory.spec->requests)) return std::nullopt;
    const cluster::GpuRequest& request = memory.spec->gpus;
    if (request.none()) return int16_t{0};
    const int16_t share = memory.eligibility.share[node.value];
    if (share == cluster::kWholeGpu.value()) {
      if (free.gpu_whole < request.count) return std::nullopt;
      return int16_t{0};
    }
    if (share == 0 || (share > 0 && free.gpu_most < share)) return std::nullopt;
    const auto chosen = ChooseRoom(*tx_.node(node), tx_.free().gpus(node), request, share);
    return chosen;
  }

  // The best node for one pod. `excluded` is ordered.
  Best Find(SpecMemory& memory, const std::vector<NodeIndex>& excluded) const {
    std::vector<ChunkBest>& known = memory.chunks[static_cast<int>(filter_)];
    const uint32_t chunks = tx_.free().chunks();
    known.resize(chunks);
    Best best;
    auto next = excluded.begin();
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const uint32_t end = (chunk + 1) * FreeTable::kChunk;
      const auto first = next;
      while (next != excluded.end() && next->value < end) ++next;
      if (first != next) {
        Improve(best, FindIn(memory, chunk, std::vector<NodeIndex>(first, next)));
        continue;
      }
      ChunkBest& one = known[chunk];
      const FreeTable::Token& token = tx_.free().token(chunk);
      if (one.token != token) {
        one.best = FindIn(memory, chunk, {});
        one.token = token;
      }
      Improve(best, one.best);
    }
    return best;
  }

  bool Place(const SpecMemory& memory, const Demand& demand, NodeIndex node,
             cluster::Placement& placed) const {
    auto devices =
        ChooseDevices(*tx_.node(node), tx_.free().gpus(node), memory.spec->gpus, strategy_);
    if (!devices) return false;
    placed = {demand.pod, node, memory.spec->requests, std::move(*devices)};
    tx_.Place(placed);
    return true;
  }

  bool Barred(const SpecMemory& memory, NodeIndex node) const {
    const Bar bar = memory.eligibility.bars[node.value];
    return bar != Bar::kNone && !(bar == Bar::kUnschedulable && filter_ == NodeFilter::kAll);
  }

 private:
  static void Improve(Best& best, const Best& other) {
    if (other.node.valid() && (!best.node.valid() || other.score < best.score)) best = other;
  }

  Best FindIn(const SpecMemory& memory, uint32_t chunk,
              const std::vector<NodeIndex>& excluded) const {
    Best best;
    const uint32_t end = std::min((chunk + 1) * FreeTable::kChunk, tx_.base().size());
    for (NodeIndex node{chunk * FreeTable::kChunk}; node.value < end; ++node.value) {
      const std::optional<int16_t> room = RoomOn(memory, node);
      if (!room || std::binary_search(excluded.begin(), excluded.end(), node)) continue;
      const Score score =
          ScoreOf(tx_.free().at(node), *memory.spec, memory.eligibility.share[node.value], *room,
                  !tx_.node(node)->gpus.empty(), ranks_[node.value], strategy_);
      if (!best.node.valid() || score < best.score) best = {node, score};
    }
    return best;
  }

  // The free milli of the device that ChooseDevices takes first; nothing when the devices do not
  // suffice.
  std::optional<int16_t> ChooseRoom(const cluster::Node& node, std::span<const int16_t> free,
                                    const cluster::GpuRequest& request, int16_t share) const {
    int32_t fits = 0;
    int16_t room = 0;
    for (size_t i = 0; i < free.size(); ++i) {
      const int64_t takes = share > 0 ? share : cluster::ShareOn(node.gpus[i], request).value();
      if (takes <= 0 || takes > free[i]) continue;
      const bool better = strategy_ == Strategy::kBinpack ? free[i] < room : free[i] > room;
      if (fits == 0 || better) room = free[i];
      ++fits;
    }
    if (fits < request.count) return std::nullopt;
    return room;
  }

  Transaction& tx_;
  const std::vector<uint32_t>& ranks_;
  const Strategy strategy_;
  const NodeFilter filter_;
};

// Where nodes are lost for a demand, with everything placed that found a node before it.
void CountRefusals(const Transaction& tx, const SpecMemory& memory, const Demand& demand,
                   const Search& search, Shortage& shortage) {
  const PodSpec& spec = *memory.spec;
  for (NodeIndex node{0}; node.value < tx.base().size(); ++node.value) {
    const Bar bar = memory.eligibility.bars[node.value];
    if (bar == Bar::kNoNode) continue;
    ++shortage.nodes;
    const cluster::Resources& free = tx.free().at(node).resources;
    if (search.Barred(memory, node)) {
      ++(bar == Bar::kUnschedulable ? shortage.unschedulable
         : bar == Bar::kTaint       ? shortage.taints
                                    : shortage.constraints);
    } else if (std::binary_search(demand.excluded.begin(), demand.excluded.end(), node)) {
      ++shortage.excluded;
    } else if (spec.requests.pods > free.pods) {
      ++shortage.pod_slots;
    } else if (spec.requests.cpu > free.cpu && spec.requests.cpu.value() > 0) {
      ++shortage.cpu;
    } else if (spec.requests.memory > free.memory && spec.requests.memory.value() > 0) {
      ++shortage.memory;
    } else if (tx.free().at(node).gpu_total < spec.gpus.total().value()) {
      ++shortage.gpus;
    } else {
      ++shortage.gpu_devices;
    }
  }
}

// Free GPU-milli on the nodes that a demand may use and that have room for the rest of it.
int64_t FreeGpus(const Transaction& tx, const SpecMemory& memory, const Demand& demand,
                 const Search& search) {
  int64_t milli = 0;
  for (NodeIndex node{0}; node.value < tx.base().size(); ++node.value) {
    if (search.Barred(memory, node)) continue;
    if (std::binary_search(demand.excluded.begin(), demand.excluded.end(), node)) continue;
    const cluster::NodeFree& free = tx.free().at(node);
    if (free.resources.Fits(memory.spec->requests)) milli += free.gpu_total;
  }
  return milli;
}

// Orders in which the demands of a gang are placed: those that are hardest to place first. Which is
// hardest depends on what is scarce, so there are two opinions. (Packing several kinds of resource
// is NP-hard: a mixed gang that would fit in some order may be refused. Gangs of equal members are
// placed whenever they fit.)
std::vector<std::vector<size_t>> Orders(const std::vector<Demand>& demands) {
  std::vector<size_t> order(demands.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto by = [&](auto key) {
    std::vector<size_t> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) {
      return key(*demands[a].spec) > key(*demands[b].spec);
    });
    return sorted;
  };
  std::vector<std::vector<size_t>> orders;
  orders.push_back(by([](const PodSpec& s) {
    return std::tuple(s.gpus.each * s.gpus.count, s.requests.cpu, s.requests.memory);
  }));
  const bool mixed = std::any_of(demands.begin(), demands.end(),
                                 [&](const Demand& d) { return *d.spec != *demands.front().spec; });
  if (mixed) {
    orders.push_back(by([](const PodSpec& s) {
      return std::tuple(s.requests.cpu, s.requests.memory, s.gpus.total());
    }));
  }
  return orders;
}

}  // namespace

Placer::Placer(Options options) : options_(options), memory_(std::make_unique<Memory>()) {}
Placer::~Placer() = default;
Placer::Placer(Placer&&) noexcept = default;
Placer& Placer::operator=(Placer&&) noexcept = default;

PlaceAnswer Placer::PlaceGang(Transaction& tx, const std::vector<Demand>& demands,
                              NodeFilter filter) {
  memory_->Follow(tx.base());
  const Search search(tx, memory_->ranks, options_.strategy, filter);
  const size_t start = tx.checkpoint();
  const auto attempt = [&](const std::vector<size_t>& order, bool prefer, PlaceAnswer& answer) {
    answer.placements.assign(demands.size(), {});
    for (size_t done = 0; done < order.size(); ++done) {
      const Demand& demand = demands[order[done]];
      SpecMemory& memory = memory_->Of(demand.spec);
      NodeIndex node = demand.preferred;
      const bool usable =
          prefer && node.valid() && node.value < tx.base().size() &&
          !std::binary_search(demand.excluded.begin(), demand.excluded.end(), node) &&
          search.RoomOn(memory, node).has_value();
      if (!usable) node = search.Find(memory, demand.excluded).node;
      if (node.valid() && search.Place(memory, demand, node, answer.placements[order[done]]))
        continue;
      answer.shortage = {};
      answer.shortage.pod = demand.pod;
      answer.shortage.placed_before = static_cast<int64_t>(done);
      CountRefusals(tx, memory, demand, search, answer.shortage);
      tx.RollbackTo(start);
      answer.shortage.free_gpu_milli = FreeGpus(tx, memory, demand, search);
      answer.placements.clear();
      return false;
    }
    return true;
  };
  const bool prefers = std::any_of(demands.begin(), demands.end(),
                                   [](const Demand& d) { return d.preferred.valid(); });
  PlaceAnswer answer;
  for (const std::vector<size_t>& order : Orders(demands)) {
    for (const bool prefer : {true, false}) {
      if (!prefer && !prefers) continue;
      PlaceAnswer tried;
      if (attempt(order, prefer, tried)) {
        tried.placed = true;
        return tried;
      }
      if (answer.shortage.pod.empty()) answer = std::move(tried);
    }
  }
  for (const Demand& demand : demands)
    answer.shortage.need_gpu_milli += demand.spec->gpus.total().value();
  return answer;
}

}  // namespace muster::policy
