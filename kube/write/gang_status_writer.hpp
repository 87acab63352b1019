// GangStatusWriter: writes the statuses of PodGroups and what the gangs have been
// (gang_record.hpp), and as little as will do.
//
//   Want ──▶ the newest of each gang ──▶ Step: GET ──▶ the patch that is missing ──▶ PATCH
//                      ▲                                   │                          │
//                      └── in 60 s: only numbers in a ─────┘                          │
//                      └── at once, then later and later, up to 60 s: anything else ──┘
//
// 1. What the object says already is not written. Where nothing but the sentence of a message
//    differs, it is written when the last write is a minute ago (after a start: a minute after it),
//    so that changing numbers, and a restart with thousands of waiting gangs, make no stream of
//    writes.
// 2. Record and status stand in a line each, and the record takes precedence: a leader that follows
//    has to know it, it names no version, and it goes to an endpoint of its own. What keeps one of
//    them from being written keeps nothing from the other.
// 3. Namespaces take turns, with few calls at a time each (fair_line.hpp).
// 4. Only what is gone is given up. What is refused for long is said once.
//
// Any thread. As many may call Step at a time as there are to be calls, kThreads at most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/ids.hpp"
#include "cluster/base/mutex.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/actions.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/fair_line.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/dialects/pod_group_flavours.hpp"

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
    // A write is over, and a thread that waits for a later time should call Step again.
    std::function<void()> wake = {};
  };
  static constexpr int kThreads = 8;
  struct Counts {
    int64_t written = 0;
    int64_t unchanged = 0;  // looked at, and there was nothing to write
    int64_t gone = 0;       // given up: there is no such object any more
    int64_t waiting = 0;
  };

  explicit GangStatusWriter(Ports ports);

  // A term as leader begins: what waited is forgotten, the engine says everything again.
  void Begin(cluster::Time now);
  // Step is due at once.
  void Want(const engine::PatchGang& gang, cluster::Time now);
  // Does one write that is due; when the next one is, or Never.
  cluster::Time Step(const Clocks& now);
  Counts counts() const;

 private:
  // Of what is wanted of one gang: its place in lines_.
  static constexpr size_t kRecord = 0;
  static constexpr size_t kStatus = 1;
  //   kNowhere  nothing is wanted
  //   kLine     waits until `due`
  //   kTaken    under way
  //   kBehind   the status: looked at together with the record, which is in its line
  enum class At { kNowhere, kLine, kTaken, kBehind };
  struct Part {
    At at = At::kNowhere;
    uint64_t wanted = 0;  // counts Want, so that a newer one during a write is not lost
    int failures = 0;     // in a row
    bool said = false;    // that it fails
    cluster::Time due;
  };
  struct Entry {
    engine::PatchGang gang;
    std::array<Part, 2> parts;
    cluster::Time written;  // the status, last, or the begin of the term
    // As the object was seen to have it; nothing: it was not looked at in this term.
    std::optional<std::string> record = std::nullopt;
  };
  struct Taken {
    size_t part;
    Entry entry;  // as it was then
    uint64_t term;
  };
  //   kUnchanged  there was nothing to write
  //   kConflict   the object changed since it was read
  //   kMessage    only a sentence differs, and it is too early for that
  //   kFailed     it may work later
  //   kGone       there is nothing to write to
  enum class Turn { kUnchanged, kWritten, kConflict, kMessage, kFailed, kNotLeader, kGone };
  struct Outcome {
    Turn turn = Turn::kUnchanged;
    cluster::Duration wait = {};                        // kMessage, kFailed: at least
    std::optional<cluster::Error> why = {};             // kFailed
    std::optional<bool> record_is_right = {};           // where it was seen
    std::optional<cluster::Duration> status_wait = {};  // a look at both: the status needs none
                                                        // (0), or only a message after this
  };

  std::optional<Taken> Take(cluster::Time now);
  Outcome Write(const Taken& taken, const Clocks& now);
  Outcome WriteRecord(const Entry& entry, const ServedPodGroups& as, std::string_view object,
                      const Clocks& now);
  Outcome WriteStatus(const Entry& entry, const ServedPodGroups& as, std::string_view object,
                      const Clocks& now);
  Outcome Send(ApiRequest request);
  static Outcome After(const cluster::Result<ApiReply>& answer);
  static Outcome Impossible(const cluster::Error& why);
  void Settle(const Taken& taken, const Outcome& outcome, cluster::Time now);
  void WantLocked(Entry& entry, size_t part, cluster::Time now) MUSTER_REQUIRES(mu_);
  void PutLocked(Entry& entry, size_t part, cluster::Time due) MUSTER_REQUIRES(mu_);
  void DropLocked(Entry& entry, size_t part) MUSTER_REQUIRES(mu_);
  void SettleLocked(Entry& entry, const Taken& taken, const Outcome& outcome, cluster::Time now)
      MUSTER_REQUIRES(mu_);
  // What a look at the object told about the part that was not to be written.
  void SettleOtherLocked(Entry& entry, const Taken& taken, const Outcome& outcome,
                         cluster::Time now) MUSTER_REQUIRES(mu_);
  // What is to be said about a failure; empty: nothing.
  static std::string ComplaintLocked(Part& part, const Outcome& outcome);
  void ForgetOldLocked(cluster::Time now) MUSTER_REQUIRES(mu_);

  const Ports ports_;

  mutable cluster::Mutex mu_;
  cluster::Time begun_ MUSTER_GUARDED_BY(mu_);
  uint64_t term_ MUSTER_GUARDED_BY(mu_) = 0;
  std::map<cluster::PodGroupUid, Entry> entries_ MUSTER_GUARDED_BY(mu_);
  std::array<FairLine<cluster::PodGroupUid, cluster::Time>, 2> lines_ MUSTER_GUARDED_BY(mu_);
  size_t forget_above_ MUSTER_GUARDED_BY(mu_) = 1024;  // entries, for the next look at all of them
  Counts counts_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube
