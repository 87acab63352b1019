// Eligibility: what the node records alone say about (pod shape, node), so that a placement looks
// at free numbers only (internal to policy/). Owned by a Placer's memory; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "cluster/records/pod.hpp"
#include "policy/fit/bar_names.hpp"
#include "policy/fit/name_ranks.hpp"
#include "policy/gpu_links/device_links.hpp"
#include "policy/terms/node_filter.hpp"

namespace muster::policy {

// Why a node is out whatever is free on it. Bits, because which of them count depends on
// NodeFilter.
struct Bar {
  static constexpr uint8_t kNoNode = 1;
  static constexpr uint8_t kUnschedulable = 2;
  static constexpr uint8_t kPassingTaint = 4;  // one that IsPassing
  static constexpr uint8_t kTaint = 8;
  static constexpr uint8_t kConstraint = 16;
  static constexpr uint8_t kLeftOut = 32;  // Node::left_out
  static constexpr uint8_t kKept = 64;     // GangTerms::kept; Search adds it

  static constexpr uint8_t Counting(NodeFilter filter) {
    return filter == NodeFilter::kSchedulable ? 0xff : kNoNode | kTaint | kConstraint;
  }
};

// What scoring wants to know of a node beside its free numbers.
struct NodeFacts {
  int64_t cpu = 0;                           // allocatable, in milli-CPU
  uint64_t rank = 0;                         // of its name among all names: see NameRanks
  int64_t gpus = 0;                          // devices, in use or not
  std::shared_ptr<const DeviceLinks> links;  // null: not known
};

class Eligibility {
 public:
  explicit Eligibility(std::shared_ptr<const topology::MachineProfiles> profiles = nullptr)
      : links_(std::move(profiles)) {}

  // What a pod takes of each device of a node whose usable devices are not all alike.
  static constexpr cluster::DeviceAmount kDiffers{cluster::GpuMilli(-1)};

  // Takes over a new table of nodes. Returns the chunks (of FreeTable::kChunk nodes) in which
  // anything said below changed. The vectors handed out stay where they are and are up to date
  // again.
  std::vector<uint32_t> Follow(const cluster::NodeTable& nodes);

  // By node index: bits of Bar.
  const std::vector<uint8_t>& BarsFor(const cluster::NodeConstraints& constraints);
  // By node index: what the request takes of each device of that node (cluster::ShareOn), kDiffers,
  // or nothing when no device can serve it.
  const std::vector<cluster::DeviceAmount>& SharesFor(const cluster::GpuRequest& request);
  // The same in words, for people; stays up to date until Forget or the next Follow.
  const BarNames& NamesFor(const cluster::NodeConstraints& constraints) const;
  int64_t all_gpus() const { return all_gpus_; }  // Σ NodeFacts::gpus
  const NodeFacts& facts(cluster::NodeIndex node) const { return facts_[node.value]; }

  // Drops what is known of constraints and requests; vectors handed out are gone.
  void Forget();

 private:
  const cluster::Node* node(size_t i) const { return nodes_[i].get(); }
  void RankNames(const cluster::NodeTable& before, const std::vector<uint32_t>& others);
  void Learn(size_t i);

  cluster::NodeTable nodes_;  // what everything below is about
  NameRanks ranks_;
  LinksMemory links_;
  std::vector<NodeFacts> facts_;
  int64_t all_gpus_ = 0;
  std::map<cluster::NodeConstraints, std::vector<uint8_t>> bars_;
  std::map<cluster::GpuRequest, std::vector<cluster::DeviceAmount>> shares_;
  // Of those constraints only for which somebody asked why nodes are out.
  mutable std::map<cluster::NodeConstraints, BarNames> names_;
};

}  // namespace muster::policy
