#include "extender/api_cluster.hpp"

#include <algorithm>
#include <utility>

#include "kube/takeover.hpp"

namespace muster::extender {

using cluster::MutexLock;
using cluster::Ok;
using cluster::Status;

namespace {

// Seeds only spread retries of several replicas; nothing is decided by them.
uint64_t SeedOf(const std::string& identity) { return std::hash<std::string>{}(identity); }

}  // namespace

ApiCluster::ApiCluster(Options options, const Logger& log)
    : options_(std::move(options)), log_(log) {}

ApiCluster::~ApiCluster() { Stop(); }

Status ApiCluster::Start() {
  cluster::Result<std::unique_ptr<kube::ApiClient>> client =
      kube::ApiClient::Create(options_.client, kube::ApiClientOptions{});
  if (!client.ok()) return client.error();
  api_ = *std::move(client);
  const uint64_t seed = SeedOf(options_.identity);
  feed_ = std::make_unique<kube::ClusterFeed>(
      kube::ClusterFeed::Ports{.api = *api_,
                               .versions = versions_,
                               .apply = [this](const engine::Fact& fact) { Apply(fact); },
                               .synced = [this] { Synced(); },
                               .warn = [this](const std::string& what) { Warn(what); }},
      kube::ClusterFeedOptions{}, seed);
  writer_ = std::make_unique<kube::PodWriter>(
      kube::PodWriter::Ports{
          .api = *api_,
          .versions = versions_,
          .may_write = [this] { return MayWrite(); },
          .report = options_.report,
          .gang_status = [this](const engine::PatchGang& gang) { Publish(gang); },
          .event = [this](const engine::EmitEvent& event) { Publish(event); },
          .warn = [this](const std::string& what) { Warn(what); }},
      kube::PodWriterOptions{}, seed);
  MakeReports();
  if (options_.lease != cluster::ObjectKey()) {
    election_ = std::make_unique<kube::LeaderElection>(
        kube::LeaderElection::Ports{.api = *api_,
                                    .on_started = [this](uint64_t epoch) { TakeOver(epoch); },
                                    .on_stopped = [this] { Lose(); },
                                    .warn = [this](const std::string& what) { Warn(what); }},
        kube::LeaseOptions{.lease = options_.lease, .identity = options_.identity, .seed = seed});
  }
  if (options_.own_pod != cluster::ObjectKey()) {
    // What a process before in this pod may have left.
    const Status dropped = kube::DropLeaderLabel(*api_, options_.own_pod);
    if (!dropped.ok()) Warn("the leader's label is not taken off: " + dropped.error().ToString());
  }
  writer_->Start();
  feed_->Start();
  return Ok{};
}

void ApiCluster::MakeReports() {
  const auto find = [this](const cluster::PodGroupUid& uid) { return feed_->FindServed(uid); };
  const auto may_write = [this] { return MayWrite(); };
  const auto warn = [this](const std::string& what) { Warn(what); };
  statuses_ = std::make_unique<kube::GangStatusWriter>(kube::GangStatusWriter::Ports{
      .api = *api_, .find = find, .may_write = may_write, .warn = warn});
  events_ = std::make_unique<kube::EventRecorder>(
      kube::EventRecorder::Ports{.api = *api_, .find = find, .may_write = may_write, .warn = warn},
      kube::EventRecorder::Options{.instance = options_.identity});
  status_thread_ = std::make_unique<kube::StepThread>(
      [this](const kube::Clocks& now) { return statuses_->Step(now); });
  event_thread_ = std::make_unique<kube::StepThread>(
      [this](const kube::Clocks& now) { return events_->Step(now); });
}

void ApiCluster::Stop() {
  if (!api_) return;
  stopping_ = true;
  // Nothing is written any more when the lease goes back, so that the next leader waits for nobody.
  if (feed_) feed_->Stop();
  if (writer_) writer_->Stop();
  if (status_thread_) status_thread_->Stop();
  if (event_thread_) event_thread_->Stop();
  if (leading_.exchange(false) && options_.own_pod != cluster::ObjectKey()) {
    const Status dropped = kube::DropLeaderLabel(*api_, options_.own_pod);
    if (!dropped.ok()) Warn("the leader's label is not taken off: " + dropped.error().ToString());
  }
  if (election_) election_->Stop();
  api_->Stop();
}

void ApiCluster::Perform(const std::vector<engine::Action>& actions) { writer_->Perform(actions); }

void ApiCluster::Warn(const std::string& what) const { log_.Info("api server", {{"what", what}}); }

void ApiCluster::Apply(const engine::Fact& fact) {
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
    const bool ours = std::find(options_.scheduler_names.begin(), options_.scheduler_names.end(),
                                pod->spec->scheduler_name) != options_.scheduler_names.end();
    const MutexLock lock(mu_);
    if (ours && !pod->nominated_node.empty() && !pod->bound()) {
      nominated_[pod->uid] = {pod->key, pod->uid};
    } else {
      nominated_.erase(pod->uid);
    }
  } else if (const auto* gone = std::get_if<engine::PodRemoved>(&fact)) {
    const MutexLock lock(mu_);
    nominated_.erase(gone->uid);
  }
  options_.apply(fact);
}

void ApiCluster::Synced() {
  log_.Info("synced with the API server");
  options_.synced();
  if (election_) {
    election_->Start();
  } else {
    TakeOver(0);
  }
}

void ApiCluster::TakeOver(uint64_t term) {
  std::vector<engine::PodRef> nominated;
  {
    const MutexLock lock(mu_);
    for (const auto& [uid, pod] : nominated_) nominated.push_back(pod);
  }
  if (term > 0) {
    const Status fenced =
        kube::Fence({.api = *api_,
                     .versions = [this](const engine::PodRef& pod,
                                        int64_t version) { versions_.Note(pod.uid, version); },
                     .leads = [this] { return election_->MayWrite(); }},
                    nominated, term);
    if (!fenced.ok()) {
      Warn("cannot take over: " + fenced.error().ToString());
      options_.lost();
      return;
    }
  }
  leading_ = true;
  statuses_->Begin(kube::ReadClocks().steady);
  if (options_.own_pod != cluster::ObjectKey()) {
    const Status labelled = kube::TakeLeaderLabel(*api_, options_.own_pod);
    if (!labelled.ok()) Warn("the leader's label is not set: " + labelled.error().ToString());
  }
  options_.lead();
}

void ApiCluster::Lose() {
  leading_ = false;
  if (!stopping_) options_.lost();
}

void ApiCluster::Publish(const engine::PatchGang& gang) {
  if (kube::IsDeclared(gang.uid)) return;  // there is no object to say it on
  statuses_->Want(gang, kube::ReadClocks().steady);
  status_thread_->Poke();
}

void ApiCluster::Publish(const engine::EmitEvent& event) {
  events_->Record(event, kube::ReadClocks());
  event_thread_->Poke();
}

}  // namespace muster::extender
