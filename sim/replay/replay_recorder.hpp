// ReplayRecorder: follows the pods of a replay from their watch events, and keeps what became of
// their jobs. Owned by Replay; one thread.
//
//   job:  submitted ──all bound──▶ run ──all ended──▶ ended
//                      ▲            │ one of its pods is evicted: the run is lost, but for what
//                      └────────────┘ the last checkpoint kept
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/api_server/watch.hpp"
#include "sim/replay/gang_places.hpp"
#include "sim/replay/model_use.hpp"
#include "sim/replay/queue_shares.hpp"
#include "sim/replay/replay_statistics.hpp"

namespace muster::sim {

// Which pod of which job.
struct PodOfJob {
  size_t job = 0;
  size_t position = 0;
};

class ReplayRecorder {
 public:
  // `checkpoint`: how often a run is saved; 0: never.
  ReplayRecorder(QueueShares shares, GangPlaces places, ModelUse models, cluster::GpuMilli capacity,
                 cluster::Duration checkpoint);

  // Jobs by number, in order.
  void Submitted(JobOutcome job, size_t pods);
  // Also of a pod that replaces one that was evicted.
  void Created(const PodRecord& pod, PodOfJob of);
  // The trace deletes the job: what is over of it from now on has ended.
  void Deleted(size_t job) { fates_[job].deleted = true; }

  // GPU time that bookings have kept idle until now: milliseconds of a GPU.
  void BookedIdle(cluster::Time at, int64_t gpu_ms) {
    history_.idle.push_back({at, gpu_ms * cluster::kWholeGpu.value()});
  }

  // Tells which pod has to be made again, if one has: it was evicted, and is gone.
  std::optional<PodOfJob> Handle(const WatchEvent& event);
  // Of the job's run time, as far as no checkpoint has kept it.
  std::optional<cluster::Duration> Remaining(size_t job) const;

  int64_t placed() const { return placed_; }
  int64_t started() const;
  // Of jobs that never started: some of their members are bound.
  int64_t partial() const;
  cluster::GpuMilli PartialGpus() const;  // that these hold
  cluster::GpuMilli most_used() const { return most_used_; }
  std::vector<cluster::Duration> Waits() const;
  // Submitted → ended.
  const std::vector<cluster::Duration>& completions() const { return completions_; }
  PlacesReport Places() const { return places_.Report(); }
  const ModelUse& models() const { return models_; }
  // The rest of this is empty then.
  ReplayHistory TakeHistory(cluster::Time last);
  cluster::Time last_event() const { return last_event_; }

 private:
  struct Followed {
    PodOfJob of;
    cluster::GpuMilli gpus;
    bool bound = false;
    bool evicted = false;
    bool over = false;
  };
  struct Fate {
    size_t pods = 0;
    size_t bound = 0;
    size_t ended = 0;
    bool deleted = false;                        // by the trace, at its time
    std::optional<cluster::Time> runs_since;     // all of its members are bound
    cluster::Duration kept;                      // of its run time, by checkpoints
    cluster::GpuMilli demand;                    // that its queue is charged with
    std::vector<GangPlaces::Place> places = {};  // of its pods, in their order, until it starts
  };
  void Bound(const PodRecord& record, Followed& pod, cluster::Time at);
  void Evicted(size_t job, cluster::Time at);
  void Over(const PodRecord& record, Followed& pod, cluster::Time at);
  void Use(size_t job, const std::string& node, cluster::GpuMilli gpus, cluster::Time at);
  void SampleUntil(cluster::Time at);

  QueueShares shares_;
  GangPlaces places_;
  ModelUse models_;
  const int64_t checkpoint_ms_;
  std::unordered_map<cluster::PodUid, Followed> pods_;
  std::vector<Fate> fates_;  // by job, as history_.jobs
  ReplayHistory history_;
  std::vector<cluster::Duration> completions_;
  int64_t placed_ = 0;
  cluster::GpuMilli used_;
  cluster::GpuMilli most_used_;
  cluster::Time last_event_;
  cluster::Time next_sample_;
};

}  // namespace muster::sim
