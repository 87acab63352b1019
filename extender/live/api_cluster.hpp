// ApiCluster: the real cluster that `muster serve` runs on: what kube/ reads and writes, and who
// leads.
//
//   ClusterFeed ──facts──▶ apply          all listed ──▶ LeaderElection ──▶ take over ──▶ lead()
//   Perform ──▶ PodWriter ──▶ report      lease lost ──▶ no write leaves any more ──▶ lost()
//
// Taking over from another leader begins with a list of everything, and fences the other off
// (kube/lead/fence.hpp); the engine learns which pods the fence does not reach at once. Owned by
// the service; Start and Stop by one thread, the rest from any.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "engine/contract/facts.hpp"
#include "engine/contract/ports.hpp"
#include "extender/live/admission_service.hpp"
#include "extender/live/cluster_metrics.hpp"
#include "extender/telemetry/log.hpp"
#include "kube/admission/access_review.hpp"
#include "kube/admission/missed_pods.hpp"
#include "kube/api/api_client.hpp"
#include "kube/api/client_config.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/lead/fence.hpp"
#include "kube/lead/lease.hpp"
#include "kube/lead/order_store.hpp"
#include "kube/lead/takeover.hpp"
#include "kube/lead/usage_keeper.hpp"
#include "kube/watch/cluster_feed.hpp"
#include "kube/write/events.hpp"
#include "kube/write/gang_status_writer.hpp"
#include "kube/write/pod_writer.hpp"
#include "kube/write/provisioning_writer.hpp"

namespace muster::extender {

class ApiCluster final : public engine::ActionPort {
 public:
  struct Options {
    kube::ClientConfig client;
    cluster::ObjectKey lease;    // empty: nobody else runs, this process leads once it has synced
    std::string identity;        // unlike any other replica's
    cluster::ObjectKey orders;   // ConfigMap of standing orders; empty: none are taken
    cluster::ObjectKey usage;    // ConfigMap of what queues have used; empty: it is not kept
    cluster::ObjectKey own_pod;  // gets the label kLeaderLabel while it leads; empty: none
    AdmissionSettings admission;
    std::optional<kube::GroupingSettings> grouping;  // nothing: no gangs by owner
    // As Scheduler::Apply: no decision is made between facts that come together.
    std::function<void(std::span<const engine::Fact>)> apply;
    std::function<void(const engine::Outcome&)> report;
    std::function<cluster::Time()> now;                        // the engine's
    std::function<std::optional<queues::UsageRecord>()> used;  // Scheduler::UsedSoFar
    std::function<void()> synced;                              // everything was listed; before lead
    // Everything was listed and this process may decide. Said once, from a thread of ours.
    std::function<void()> lead;
    // Leadership is gone for good; the process should end. Said once, after lead.
    std::function<void()> lost;
  };

  ApiCluster(Options options, const Logger& log);
  ~ApiCluster() override;  // Stop()
  ApiCluster(const ApiCluster&) = delete;
  ApiCluster& operator=(const ApiCluster&) = delete;

  cluster::Status Start();
  // Gives leadership back. Idempotent.
  void Stop();

  void Perform(const std::vector<engine::Action>& actions) override;
  // After Start.
  void SetGrouping(kube::GroupingSettings settings);
  std::string AskGrouping(cluster::Pod& pod) { return feed_->AskGrouping(pod); }
  // Keeps what operators have ordered.
  cluster::Status KeepOrders(const engine::StandingOrders& orders);
  kube::AccessReviewer& reviewer() { return *reviewer_; }  // after Start
  // For /metrics, after Start.
  ClusterReadings Readings() const;
  // The resources that were not listed yet, for people.
  std::string Unsynced() const;

 private:
  void MakeStores();
  void MakeReports();
  void Apply(std::span<const engine::Fact> facts);
  void Tell(const engine::Fact& fact);
  void NoteHandedOver(const engine::Fact& fact);
  void MakeAdmission();
  std::string OwnNamespace() const;  // empty: it is not known
  void Say(const kube::MissedPods::Report& report);
  void Synced();
  // Fences the leader before off, and lets this one decide.
  void TakeOver(uint64_t term);
  bool ReadOrders();             // false: it cannot lead without
  bool FenceOff(uint64_t term);  // false: the term is over
  std::string Epoch() const;     // what this leader writes to pods that it hands over
  void Lose();
  void End();  // says once that this process should end
  bool MayWrite() const { return !stopping_ && Leads(); }
  bool Leads() const { return leading_ && (!election_ || election_->MayWrite()); }
  void Publish(const engine::PatchGang& gang);
  void Publish(const engine::EmitEvent& event);
  void Warn(const std::string& what) const;

  const Options options_;
  const Logger& log_;
  std::atomic<bool> leading_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> over_{false};
  std::atomic<uint64_t> term_{0};  // 0: without an election

  cluster::Mutex mu_;
  // Not bound, but a leader before this one may have bound them without our knowing. Of no use once
  // this one leads.
  std::map<cluster::PodUid, kube::HandedOverPod> handed_over_ MUSTER_GUARDED_BY(mu_);
  mutable cluster::Mutex missed_mu_;
  std::optional<kube::MissedPods> missed_ MUSTER_GUARDED_BY(missed_mu_);
  std::vector<std::string> scheduler_names_ MUSTER_GUARDED_BY(missed_mu_);  // of Muster's pods

  std::unique_ptr<kube::ApiClient> api_;
  kube::PodVersions versions_;
  std::unique_ptr<kube::PodWriter> writer_;
  std::unique_ptr<kube::ClusterFeed> feed_;
  std::unique_ptr<kube::GangStatusWriter> statuses_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<kube::AccessReviewer> reviewer_;
  std::unique_ptr<kube::OrderStore> orders_;
  std::unique_ptr<kube::UsageKeeper> usage_;        // null: it is not kept
  std::unique_ptr<kube::StepThread> usage_thread_;  // from TakeOver on
  std::unique_ptr<kube::LeaderElection> election_;  // null: nobody else runs
  std::unique_ptr<kube::Fence> fence_;              // from TakeOver on
  std::unique_ptr<kube::StepThread> fence_thread_;  // only while a pod is not fenced
  std::vector<std::unique_ptr<kube::StepThread>> status_threads_;
  std::vector<std::unique_ptr<kube::StepThread>> event_threads_;
  std::unique_ptr<kube::ProvisioningWriter> requests_;
  std::vector<std::unique_ptr<kube::StepThread>> request_threads_;
  std::unique_ptr<AdmissionService> admission_;     // null: there is no webhook
  std::unique_ptr<kube::LeaderLabel> label_;        // null: there is no pod to label
  std::unique_ptr<kube::StepThread> label_thread_;  // likewise
};

}  // namespace muster::extender
