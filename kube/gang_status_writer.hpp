// GangStatusWriter: writes the statuses of PodGroups, and as few as will do.
//
//   Want ──▶ the newest of each gang ──▶ Step: GET ──▶ PlanGangStatus ──▶ PATCH
//                      ▲                                   │                │
//                      └── in 60 s: only numbers in a ─────┘                │
//                      └── at once, then later and later: 409, 429, 5xx ────┘
//
// What the object says already is not written. Where nothing but the sentence of a message differs,
// it is written when the last write is a minute ago (after a start: a minute after it), so that
// changing numbers, and a restart with thousands of waiting gangs, make no stream of writes.
//
// Want and Begin may be called from any thread, Step from one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/ids.hpp"
#include "cluster/mutex.hpp"
#include "cluster/units.hpp"
#include "engine/actions.hpp"
#include "kube/api_caller.hpp"
#include "kube/discovery.hpp"
#include "kube/step_thread.hpp"

namespace muster::kube {

class GangStatusWriter {
 public:
  struct Ports {
    ApiCaller& api;
    // What a PodGroup is served as. Nothing: it is not known (any more), and is not written.
    std::function<std::optional<ServedPodGroups>(const cluster::PodGroupUid&)> find;
    // Asked right before each write. While it says no, nothing is written or forgotten.
    std::function<bool()> may_write;
    // One line for the log.
    std::function<void(const std::string&)> warn;
  };
  struct Counts {
    int64_t written = 0;
    int64_t unchanged = 0;  // looked at, and there was nothing to write
    int64_t refused = 0;    // given up: forbidden, or the object is gone
    int64_t waiting = 0;
  };

  explicit GangStatusWriter(Ports ports);

  // A term as leader begins: what waited is forgotten, the engine says everything anew.
  void Begin(cluster::Time now);
  // Step is due at once.
  void Want(const engine::PatchGang& gang, cluster::Time now);
  // Does one gang that is due; when the next one is, or Never.
  cluster::Time Step(const Clocks& now);
  Counts counts() const;

 private:
  struct Entry {
    engine::PatchGang gang;
    bool waiting = false;
    uint64_t wanted = 0;  // counts Want, so that a newer one during a write is not lost
    int failures = 0;     // in a row
    cluster::Time due;
    cluster::Time written;  // last, or the begin of the term
  };
  //   kUnchanged  there was nothing to write
  //   kConflict   the object changed since it was read
  //   kMessage    only a sentence differs, and it is too early for that
  //   kFailed     it may work later
  //   kGaveUp     it will not
  enum class Turn { kUnchanged, kWritten, kConflict, kMessage, kFailed, kNotLeader, kGaveUp };
  struct Outcome {
    Turn turn = Turn::kUnchanged;
    cluster::Duration wait;  // kMessage, kFailed: at least
  };

  Outcome Write(const Entry& entry, const Clocks& now);
  Outcome WriteStatus(const Entry& entry, const ServedPodGroups& as, std::string_view object,
                      const Clocks& now);
  Outcome Send(ApiRequest request, const Entry& entry);
  Outcome After(const cluster::Result<ApiReply>& answer, const engine::PatchGang& gang,
                int failures);
  void Settle(const cluster::PodGroupUid& uid, const Entry& tried, const Outcome& outcome,
              cluster::Time now);
  void WaitLocked(const cluster::PodGroupUid& uid, Entry& entry, cluster::Time due)
      MUSTER_REQUIRES(mu_);
  void SettleLocked(const cluster::PodGroupUid& uid, Entry& entry, const Outcome& outcome,
                    bool newer, cluster::Time now) MUSTER_REQUIRES(mu_);
  void ForgetOldLocked(cluster::Time now) MUSTER_REQUIRES(mu_);

  const Ports ports_;

  mutable cluster::Mutex mu_;
  cluster::Time begun_ MUSTER_GUARDED_BY(mu_);
  std::map<cluster::PodGroupUid, Entry> entries_ MUSTER_GUARDED_BY(mu_);
  std::set<std::pair<cluster::Time, cluster::PodGroupUid>> due_ MUSTER_GUARDED_BY(mu_);
  size_t forget_above_ MUSTER_GUARDED_BY(mu_) = 1024;  // entries, for the next look at all of them
  Counts counts_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube
