// LeaderElection: of several replicas at most one leads, by a Lease, as client-go does it.
//
//                    ┌─ absent, free, or not renewed for its duration ──▶ PUT or POST ok ─┐
//   candidate ── GET ┤                                                                    ▼
//       ▲            └─ renewed within it: look again in 2 s to 4.4 s                  leading
//       │                                                                                 │
//       └── 10 s since the START of the last renewal that succeeded, or another holder ◀──┘
//                                                          else: PUT every 2 s
//
// 1. Another holder's term is over when its record has not changed here for long enough, on a clock
//    that nobody sets. No time that stands in a Lease is compared with any clock.
// 2. A term lasts until deadline(); each renewal moves it. That is 5 s before any other replica may
//    take over, for those count from the end of the renewal at the earliest. A term that is over
//    does not come back: the same replica may begin another one, with a higher epoch.
// 3. Who writes asks MayWrite right before each write. It is exact whatever the threads do: a
//    process that was stopped for a minute may not write from its first instruction on.
// 4. That does not recall what was sent before: writes need a timeout below the margin, and what is
//    delayed on the way is fenced by versions (takeover.hpp).
//
// Identities must differ. A Lease that is deleted while it is held is created again by its holder,
// and by no replica that ever saw it before its duration has passed; only a replica that starts
// just then takes it at once, as it does in a new cluster.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "cluster/base/ids.hpp"
#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/lead/lease_record.hpp"

namespace muster::kube {

struct LeaseOptions {
  cluster::ObjectKey lease;
  std::string identity;                                   // unlike that of any other process
  cluster::Duration duration = cluster::Seconds(15);      // that others wait
  cluster::Duration renew_within = cluster::Seconds(10);  // of the last renewal: the term
  cluster::Duration retry = cluster::Seconds(2);          // between calls
  double jitter = 1.2;                             // candidates wait up to this × retry more
  cluster::Duration margin = cluster::Seconds(4);  // of MayWrite
  uint64_t seed = 0;                               // of the jitter
  bool one_term = false;  // when a term has ended, no other is wanted: the process is about to end
};

class LeaderElection {
 public:
  struct Ports {
    ApiCaller& api;
    // From any thread.
    std::function<Clocks()> clock = ReadClocks;
    // Both are called one after the other on a thread of their own, so a long one holds up no
    // renewal. `epoch`: leaseTransitions, from 1 on, higher in every term. on_stopped follows each
    // on_started once; MayWrite has said no already by then.
    std::function<void(uint64_t epoch)> on_started;
    std::function<void()> on_stopped;
    // One line for the log.
    std::function<void(const std::string&)> warn;
  };

  LeaderElection(Ports ports, LeaseOptions options);
  ~LeaderElection();  // Stop  // NOLINT(bugprone-exception-escape)
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  void Start();
  // Ends the term, waits for the callbacks, then gives the Lease back so that another replica leads
  // at once. Stop writing before. Idempotent.
  void Stop();

  // Any thread, no lock. False within `margin` of the deadline: a write that takes so long might
  // end after it.
  bool MayWrite() const { return MayWrite(options_.margin); }
  bool MayWrite(cluster::Duration margin) const;
  // Steady time until which the present term lasts; none: not leading.
  std::optional<cluster::Time> deadline() const;
  // Of the present or the last term; 0: there was none.
  uint64_t epoch() const { return epoch_; }

  // What the threads run. Each returns when it is due next.
  cluster::Time Elect();     // looks at the Lease, takes it or renews it
  cluster::Time Announce();  // calls what is to be called

 private:
  static constexpr int64_t kNotLeading = std::numeric_limits<int64_t>::min();

  //   kAgain  the Lease is not what was believed: look at it at once
  enum class Next { kWait, kAgain };

  Next Renew();
  Next Look();
  Next Create();
  Next Put(const LeaseObject& base, const LeaseRecord& record);
  Next Judge(const cluster::Result<ApiReply>& answer, cluster::Time start, const LeaseRecord& sent);
  LeaseRecord RenewedRecord() const;
  LeaseRecord TakenRecord(int64_t transitions) const;
  void Observe(const std::optional<LeaseRecord>& record);
  bool MustWait() const;  // for what was observed

  bool leading() const { return deadline_ != kNotLeading; }
  bool had_its_term() const { return options_.one_term && epoch_ != 0 && !leading(); }
  // A write that began at `start` made the Lease ours.
  void Hold(cluster::Time start, const LeaseRecord& record);
  // False: the term was over already.
  bool EndTerm();
  bool EndIfOver();
  void Warn(const std::string& what);

  cluster::Time Now() const { return ports_.clock().steady; }

  const Ports ports_;
  const LeaseOptions options_;

  std::atomic<int64_t> deadline_{kNotLeading};  // milliseconds; written under mu_
  std::atomic<uint64_t> epoch_{0};

  cluster::Mutex mu_;
  uint64_t announced_ MUSTER_GUARDED_BY(mu_) = 0;     // epoch of the last on_started
  bool told_started_ MUSTER_GUARDED_BY(mu_) = false;  // and on_stopped did not follow yet

  // The thread of Elect's.
  std::optional<LeaseObject> base_;  // as written last: what a renewal builds on
  LeaseRecord held_;                 // the last record of ours that was taken
  bool seen_ = false;                // a Lease was seen
  bool absent_ = false;              // and is not there any more
  LeaseRecord observed_;             // as it stood last
  cluster::Time observed_at_;        // since when it stands so, or is not there
  std::string last_warning_;
  std::mt19937_64 random_;

  std::unique_ptr<StepThread> elector_;
  std::unique_ptr<StepThread> announcer_;
};

}  // namespace muster::kube
