// PodWriter: carries out what the engine wants done to pods, against an API server.
//
//   Perform ──▶ a queue per pod, in order ──▶ workers, bindings first ──▶ Call ──▶ Outcome
//                     ▲                                                    │
//                     └──── not before a while ──── 429, 5xx, unknown: GET the pod, then decide
//
// Namespaces take turns. One that is alone may have most of the workers, one beside others a
// quarter, and a quarter is left for the next caller: a webhook that hangs delays the pods of
// its own namespace. An eighth of the workers does nothing but bindings.
//
// An outcome that is unknown is settled by looking at the pod before anything is tried again. No
// write leaves once `may_write` says no. Evictions given together are all tried dry first: a
// PodDisruptionBudget that protects one of them spares all, but for those that go over budgets
// (engine::EvictPod): these are deleted instead.
//
// Perform may be called from any thread; outcomes are reported from the workers.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "engine/contract/ports.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/fair_line.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/write/pod_writes.hpp"

namespace muster::kube {

// The newest resourceVersion of every pod that there is. Shared by reader and writer.
class PodVersions {
 public:
  // For the reader, which also hears of the pod's end. An older one than the known changes nothing.
  void Note(const cluster::PodUid& uid, int64_t version);
  // As Note, for writers: an answer may come after the pod's end, and is remembered only
  // while the pod is known.
  void Renew(const cluster::PodUid& uid, int64_t version);
  void Forget(const cluster::PodUid& uid);
  int64_t Find(const cluster::PodUid& uid) const;  // 0: not known
  size_t size() const;

 private:
  mutable cluster::Mutex mu_;
  std::unordered_map<cluster::PodUid, int64_t> versions_ MUSTER_GUARDED_BY(mu_);
};

struct PodWriterOptions {
  int workers = 40;  // calls at a time
  int attempts = 5;  // of one action, before the engine hears that it did not work
  std::chrono::milliseconds backoff_first{250};
  std::chrono::milliseconds backoff_max{8'000};
};

class PodWriter final : public engine::ActionPort {
 public:
  struct Ports {
    ApiCaller& api;
    PodVersions& versions;
    // False: not the leader, or not for much longer.
    std::function<bool()> may_write;
    std::function<void(const engine::Outcome&)> report;
    std::function<std::string()> epoch;  // of this leader, for WriteContext
    // Statuses and events: for those who write them. From the thread that called Perform.
    std::function<void(const engine::PatchGang&)> gang_status;
    std::function<void(const engine::EmitEvent&)> event;
    std::function<void(const std::string&)> warn;
    // Its `wall` goes into Bindings; called by the workers.
    std::function<Clocks()> clock = ReadClocks;
  };

  PodWriter(Ports ports, PodWriterOptions options, uint64_t seed);
  ~PodWriter() override;  // Stop()
  PodWriter(const PodWriter&) = delete;
  PodWriter& operator=(const PodWriter&) = delete;

  void Start();
  // Drops what has not begun, waits for what has. Idempotent.
  void Stop();

  void Perform(const std::vector<engine::Action>& actions) override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Job {
    PodWrite write;
    int attempt = 0;
  };
  // Evictions that are tried dry before the first of them is meant.
  struct EvictionSet {
    std::vector<engine::EvictPod> pods;
  };
  // Places in lines_, by rank.
  static constexpr size_t kBindings = 0;
  static constexpr size_t kEvictionSets = 1;
  static constexpr size_t kWrites = 2;
  using Lines = std::array<FairLine<std::string, Clock::time_point>, 3>;
  // What one worker takes: the pod whose first job is next, or a set of evictions.
  struct Turn {
    size_t line;
    std::string ns;
    std::string key;  // in jobs_ or eviction_sets_
  };

  void Work();
  // Null when stopped.
  std::optional<Turn> NextTurn();
  // What a worker that is free may do now.
  std::optional<Turn> TakeLocked(Clock::time_point now) MUSTER_REQUIRES(mu_);
  void Enqueue(PodWrite write);
  void ReadyLocked(const std::string& uid, Clock::time_point due) MUSTER_REQUIRES(mu_);

  void RunFirstJob(const std::string& uid);
  // Nothing: not settled, to be tried again after `wait`.
  std::optional<engine::Outcome> Attempt(const Job& job, std::chrono::milliseconds& wait);
  // Of an eviction that a budget refuses, and that goes over budgets.
  cluster::Result<ApiReply> DeleteInstead(const engine::EvictPod& evict,
                                          const WriteContext& context);
  Verdict LookAndJudge(const PodWrite& write, const Verdict& answer);
  std::optional<cluster::Pod> ReadPodFrom(const std::string& body);
  std::chrono::milliseconds BackOff(int attempt);
  void RunEvictionSet(const std::string& key);
  void RunEvictions(const EvictionSet& set);
  // Why a pod may not be evicted, as an outcome; nothing: it may. Several at a time.
  std::optional<engine::Outcome> DryRunAll(const EvictionSet& set);
  std::optional<engine::Outcome> DryRun(const engine::EvictPod& pod);
  std::optional<engine::Outcome> AskBudgets(const EvictionSet& set);
  bool Pause(std::chrono::milliseconds time);  // false: stopped

  const Ports ports_;
  const PodWriterOptions options_;
  std::vector<std::thread> threads_;

  cluster::Mutex mu_;
  cluster::CondVar changed_;
  cluster::CondVar stopped_;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  uint64_t nonce_ MUSTER_GUARDED_BY(mu_) = 0;
  std::mt19937_64 random_ MUSTER_GUARDED_BY(mu_);
  // By UID: the first job is running or stands in a line.
  std::unordered_map<std::string, std::deque<Job>> jobs_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, EvictionSet> eviction_sets_ MUSTER_GUARDED_BY(mu_);
  Lines lines_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube
