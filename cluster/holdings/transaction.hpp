// Transaction: tentative placements and evictions on top of a Snapshot. Private to one thread; the
// Snapshot is not changed.
//
//   Transaction tx(snapshot);
//   auto before = tx.checkpoint();
//   tx.Place(placement);               // … a whole gang
//   if (!fits) tx.RollbackTo(before);  // exactly as before
//   Commit(tx.deltas());
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/holdings/snapshot.hpp"

namespace muster::cluster {

struct Delta {
  enum class Kind { kPlace, kEvict };
  Kind kind = Kind::kPlace;
  Placement placement;
  std::string queue;    // to which it is charged
  uint64_t serial = 0;  // of no other delta of the transaction, not even of one that was undone
};

class Transaction {
 public:
  explicit Transaction(std::shared_ptr<const Snapshot> base)
      : base_(std::move(base)), free_(base_->free()) {}

  // 1. `placement` must fit: its resources and, device by device, its shares (MUSTER_CHECK).
  // `queue`: to which it is charged.
  void Place(Placement placement, std::string queue = {});
  // 2. `placement` is what a pod of the snapshot, or of this transaction, holds: it becomes free
  // here.
  void Evict(Placement placement, std::string queue = {});
  // 3. The placement at that position among the deltas is another pod's, which asks for the same.
  void Rename(size_t position, PodUid pod);
  // 4. Everything done after the checkpoint is undone, in reverse order.
  size_t checkpoint() const { return deltas_.size(); }
  void RollbackTo(size_t checkpoint);

  // What rules among pods see of pods that are placed here, by UID; those of the snapshot's own
  // pods are in its PodField.
  void Know(const FacePtr& face) { faces_[face->uid] = face; }
  // Null: it is not known.
  const PodFace* FaceOf(const PodUid& pod) const {
    const auto found = faces_.find(pod);
    return found == faces_.end() ? nullptr : found->second.get();
  }

  // What each queue holds then. Costs a copy of the snapshot's.
  UsageTable usage() const;
  const std::vector<Delta>& deltas() const { return deltas_; }
  const FreeTable& free() const { return free_; }
  const Snapshot& base() const { return *base_; }
  const Node* node(NodeIndex index) const { return base_->node(index); }

 private:
  std::shared_ptr<const Snapshot> base_;
  FreeTable free_;
  std::vector<Delta> deltas_;
  uint64_t next_serial_ = 1;
  std::unordered_map<PodUid, FacePtr> faces_;  // looked up, never ordered
};

}  // namespace muster::cluster
