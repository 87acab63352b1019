#include "cluster/holdings/transaction.hpp"

#include <utility>

#include "cluster/base/check.hpp"

namespace muster::cluster {

void Transaction::Place(Placement placement, std::string queue) {
  MUSTER_CHECK(placement.node.value < base_->size());
  const Node* where = node(placement.node);
  MUSTER_CHECK(where != nullptr);
  MUSTER_CHECK(free_.Fits(*where, placement));
  free_.Take(*where, placement);
  deltas_.push_back({Delta::Kind::kPlace, std::move(placement), std::move(queue), next_serial_++});
}

void Transaction::Evict(Placement placement, std::string queue) {
  MUSTER_CHECK(placement.node.value < base_->size());
  const Node* where = node(placement.node);
  MUSTER_CHECK(where != nullptr);
  free_.Give(*where, placement);
  deltas_.push_back({Delta::Kind::kEvict, std::move(placement), std::move(queue), next_serial_++});
}

void Transaction::Rename(size_t position, PodUid pod) {
  MUSTER_CHECK(position < deltas_.size() && deltas_[position].kind == Delta::Kind::kPlace);
  deltas_[position].placement.pod = std::move(pod);
}

UsageTable Transaction::usage() const {
  UsageTable usage = base_->usage();
  for (const Delta& delta : deltas_) {
    const Node& where = *node(delta.placement.node);
    if (delta.kind == Delta::Kind::kPlace) {
      usage.Add(delta.queue, delta.placement, where);
    } else {
      usage.Remove(delta.queue, delta.placement, where);
    }
  }
  return usage;
}

void Transaction::RollbackTo(size_t checkpoint) {
  MUSTER_CHECK(checkpoint <= deltas_.size());
  while (deltas_.size() > checkpoint) {
    const Delta& last = deltas_.back();
    const Node& where = *node(last.placement.node);
    if (last.kind == Delta::Kind::kPlace) {
      free_.Give(where, last.placement);
    } else {
      free_.Take(where, last.placement);
    }
    deltas_.pop_back();
  }
}

}  // namespace muster::cluster
