// CoveredGangs: which gangs that hold GPUs are within the guarantees of their queues; the others
// have borrowed (internal to engine/; R5). Owned by ShapeBook.
//
// In each queue the first gangs are covered, as long as what they hold together is within its
// guarantee, of GPUs or of a model. First come those that stay whatever happens, then those of
// higher priority, of these those that are on no promised node; each in the order in which they
// were first told of. So when the others leave, the last first, each leaves a queue that is beyond
// its guarantee, also without those that it could have evicted itself (queues::Ranks).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/records/gang_id.hpp"
#include "queues/ledger.hpp"

namespace muster::engine {

class CoveredGangs {
 public:
  // Nobody has it evicted, whatever its queue uses.
  static constexpr int64_t kStays = INT64_MAX;

  struct Holding {
    queues::QueueIndex leaf;
    int64_t priority = 0;
    bool stays = false;     // it may not be evicted: R14, or another scheduler's pods are in it
    bool promised = false;  // it is on nodes that are promised to other queues
    queues::Vector held;    // by Tree::resources(); of what is no GPU, no matter
    bool operator==(const Holding&) const = default;
  };

  // In place of what was said before.
  void Set(const queues::Tree& tree, const cluster::GangId& gang, Holding holding);
  void Remove(const cluster::GangId& gang);
  const Holding* Find(const cluster::GangId& gang) const;  // null: it holds nothing
  // Works through what was said since. The gangs whose depth is another one now.
  std::set<cluster::GangId> Follow(const queues::Tree& tree);

  // The depth of the deepest queue on its path within whose guarantee it is; 0: within none's.
  // Gangs of other queues may have it evicted from where the paths part, if that is as deep.
  int64_t DepthOf(const cluster::GangId& gang) const;
  // The same when it holds so much more; one that holds nothing comes as the last one of its queue
  // and priority. `any_model`: it may hold GPUs of any model.
  int64_t DepthWith(const queues::Ledger& ledger, const cluster::GangId& gang,
                    queues::QueueIndex leaf, int64_t priority, const queues::Vector& more,
                    bool any_model) const;

  // What is not so.
  std::vector<std::string> Audit(const queues::Tree& tree) const;

 private:
  // Those that stay; the highest priority, negated; on no promised node; in which order they came.
  using Key = std::tuple<bool, int64_t, bool, uint64_t>;
  using Line = std::map<Key, cluster::GangId>;
  struct Entry {
    Holding holding;
    uint64_t since = 0;
    std::vector<queues::QueueIndex> lines;  // in which it is
    std::set<int64_t> covered;              // depths
    Key key() const {
      return {!holding.stays, holding.stays ? 0 : -holding.priority,
              !holding.stays && holding.promised, since};
    }
  };
  std::set<cluster::GangId> CoveredIn(const queues::Tree& tree, const queues::Queue& queue,
                                      const Line& line) const;
  int64_t Ahead(const queues::Ledger& ledger, queues::QueueIndex queue, const cluster::GangId& gang,
                int64_t priority, size_t resource) const;

  std::map<cluster::GangId, Entry> entries_;
  std::map<queues::QueueIndex, Line> lines_;  // of queues that are guaranteed GPUs
  std::map<queues::QueueIndex, std::set<cluster::GangId>> covered_;
  std::set<queues::QueueIndex> changed_;  // lines
  std::set<cluster::GangId> differ_;      // Follow
  uint64_t next_ = 0;
};

}  // namespace muster::engine
