#include "policy/domains/fragmentation.hpp"

#include <algorithm>

namespace muster::policy {

using cluster::NodeIndex;
using topology::DomainId;

void DomainUse::Follow(const cluster::FreeTable& free, const cluster::NodeTable& nodes,
                       const std::shared_ptr<const topology::Fabric>& fabric) {
  for (uint32_t chunk = 0; chunk < nodes.chunks(); ++chunk) {
    if (!nodes.SameChunk(nodes_, chunk)) sums_.ForgetChunk(chunk);
  }
  nodes_ = nodes;
  sums_.Follow(free, fabric, [&](NodeIndex node) -> int64_t {
    const size_t gpus = free.gpus(node).size();
    if (gpus == 0 || nodes[node.value] == nullptr) return 0;
    const bool whole = static_cast<size_t>(free.at(node).gpu_whole) == gpus;
    return whole && nodes[node.value]->schedulable() ? 1 : kTaken;
  });
}

int64_t Losses::LargestLost(const Opening& opening) const {
  int64_t lost = 0;
  if (opening.nodes == 0) return lost;
  for (DomainId id = opening.domain; id != topology::kNoDomain && use_.TakenIn(id) == 0;
       id = fabric_.domains()[id].parent)
    lost = use_.FreeIn(id);
  return lost;
}

int Losses::CompareSlots(const Opening& a, const Opening& b) const {
  const int64_t free_a = use_.FreeIn(a.domain);
  const int64_t free_b = use_.FreeIn(b.domain);
  const int64_t left_a = std::max<int64_t>(free_a - a.nodes, 0);
  const int64_t left_b = std::max<int64_t>(free_b - b.nodes, 0);
  const int64_t most = std::max(free_a, free_b);
  for (unsigned slot = 0; most >> slot > 0; ++slot) {  // of 2^slot nodes
    const int64_t one = (free_a >> slot) - (left_a >> slot);
    const int64_t other = (free_b >> slot) - (left_b >> slot);
    if (one != other) return one < other ? -1 : 1;
  }
  return 0;
}

int Losses::Compare(const Opening& a, const Opening& b) const {
  if (a.nodes == 0 || b.nodes == 0) return (a.nodes == 0 ? 0 : 1) - (b.nodes == 0 ? 0 : 1);
  const auto last = [&](const Opening& one) {
    return one.domain != topology::kNoDomain && use_.FreeIn(one.domain) == 1;
  };
  if (last(a) != last(b)) return last(a) ? -1 : 1;
  const int64_t one = LargestLost(a);
  const int64_t other = LargestLost(b);
  if (one != other) return one < other ? -1 : 1;
  Opening left = a;
  Opening right = b;
  while (left.domain != right.domain || left.nodes != right.nodes) {
    if (left.domain == topology::kNoDomain && right.domain == topology::kNoDomain)
      return left.nodes < right.nodes ? -1 : 1;
    if (left.domain == topology::kNoDomain) return 1;
    if (right.domain == topology::kNoDomain) return -1;
    if (const int order = CompareSlots(left, right); order != 0) return order;
    left.domain = fabric_.domains()[left.domain].parent;
    right.domain = fabric_.domains()[right.domain].parent;
  }
  return 0;
}

}  // namespace muster::policy
