// UsageMemory: what queues have used, where what is long past counts less (R2, usageHalfLife).
// Owned by one thread. A change costs O(1) per queue, whatever has passed since.
//
//   M(t) = U + (M(s) − U) · 2^(−(t − s) / H)      while U is what is used, since s
//
// M is the mean of what was used at every moment before t, in which a moment counts half as much as
// one that came a half-life H later: the device-time of Slurm's fair-share tree, which decays by
// PriorityDecayHalfLife (slurm.conf), divided by that of one device used for ever. So it is in the
// units of U: a queue that has used 8 GPUs for ever has an M of 8 GPUs.
//
// Numbers are whole: M has 24 binary digits after the point, the power of two 52, and what is cut
// off is rounded.
//
// 1. A queue begins with what it uses when it is first told of: as if it had always used that.
// 2. Queues that are gone are remembered until nothing of theirs counts, 4,096 of them at most:
//    those that used something last.
// 3. Who adopts a record of all of it remembers the same to the last digit. Between the two each
//    queue counts as using what it used when the record was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "queues/tree.hpp"
#include "queues/usage_record.hpp"

namespace muster::queues {

// 2^(−passed / half_life) · 2^52, for a half-life that is positive.
uint64_t Decay(cluster::Duration passed, cluster::Duration half_life);

class UsageMemory {
 public:
  bool none() const { return pasts_.empty(); }
  void Clear() { pasts_.clear(); }
  size_t size() const { return pasts_.size(); }
  // The queue uses that much from now on.
  void Use(const std::string& queue, cluster::Duration half_life, const Vector& used,
           cluster::Time now);
  // M, rounded down; of a queue that is not known: nothing.
  Vector At(const std::string& queue, size_t resources, cluster::Time now) const;
  // Those that the tree does not have use nothing from now on.
  void LetGo(const Tree& tree, cluster::Time now);
  // All of it by the resources of another tree.
  void Reorder(const std::vector<Resource>& before, const std::vector<Resource>& after) {
    queues::Reorder(pasts_, before, after);
  }
  // `resources`: those of the tree.
  UsageRecord All(const std::vector<Resource>& resources) const;
  // What it says of its queues holds in place of what was known. An error (CheckUsage): nothing
  // changed.
  cluster::Status Adopt(UsageRecord record, const Tree& tree, cluster::Time now);

 private:
  static Uint128 MeanAt(const PastUse& past, size_t resource, cluster::Time now);
  void KeepLast(const Tree& tree);

  PastUses pasts_;
};

}  // namespace muster::queues
