#include "extender/live/api_cluster.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace muster::extender {

using cluster::MutexLock;
using cluster::Ok;
using cluster::Status;

namespace {

// Seeds only spread retries of several replicas; nothing is decided by them.
uint64_t SeedOf(const std::string& identity) { return std::hash<std::string>{}(identity); }

constexpr int kOrderTries = 5;
constexpr std::chrono::milliseconds kOrderPause{1'000};

void PokeAll(const std::vector<std::unique_ptr<kube::StepThread>>& threads) {
  for (const auto& thread : threads) thread->Poke();
}

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
      kube::ClusterFeed::Ports{
          .api = *api_,
          .versions = versions_,
          .apply = [this](std::span<const engine::Fact> facts) { Apply(facts); },
          .synced = [this] { Synced(); },
          .warn = [this](const std::string& what) { Warn(what); }},
      kube::ClusterFeedOptions{}, seed);
  if (options_.grouping) feed_->SetGrouping(*options_.grouping);
  writer_ = std::make_unique<kube::PodWriter>(
      kube::PodWriter::Ports{
          .api = *api_,
          .versions = versions_,
          .may_write = [this] { return MayWrite(); },
          .report = options_.report,
          .epoch = [this] { return Epoch(); },
          .gang_status = [this](const engine::PatchGang& gang) { Publish(gang); },
          .event = [this](const engine::EmitEvent& event) { Publish(event); },
          .warn = [this](const std::string& what) { Warn(what); }},
      kube::PodWriterOptions{}, seed);
  MakeReports();
  reviewer_ = std::make_unique<kube::AccessReviewer>(
      kube::AccessReviewer::Ports{.api = *api_, .now = [] { return kube::ReadClocks(); }},
      kube::AccessReviewer::Options{});
  MakeStores();
  MakeAdmission();
  if (options_.lease != cluster::ObjectKey()) {
    election_ = std::make_unique<kube::LeaderElection>(
        kube::LeaderElection::Ports{.api = *api_,
                                    .on_started = [this](uint64_t epoch) { TakeOver(epoch); },
                                    .on_stopped = [this] { Lose(); },
                                    .warn = [this](const std::string& what) { Warn(what); }},
        kube::LeaseOptions{.lease = options_.lease,
                           .identity = options_.identity,
                           .seed = seed,
                           .one_term = true});
  }
  if (options_.own_pod != cluster::ObjectKey()) {
    label_ = std::make_unique<kube::LeaderLabel>(
        kube::LeaderLabel::Ports{.api = *api_,
                                 .leading = [this] { return leading_.load(); },
                                 .may_write = [this] { return MayWrite(); },
                                 .warn = [this](const std::string& what) { Warn(what); }},
        options_.own_pod);
    label_thread_ = std::make_unique<kube::StepThread>(
        [this](const kube::Clocks& now) { return label_->Step(now); });
  }
  writer_->Start();
  if (admission_) admission_->Start();
  feed_->Start();
  return Ok{};
}

std::string ApiCluster::OwnNamespace() const {
  return options_.own_pod.ns.empty() ? options_.lease.ns : options_.own_pod.ns;
}

void ApiCluster::MakeAdmission() {
  kube::MissedPods::Options missed;
  if (!OwnNamespace().empty()) missed.spared_namespaces.insert(OwnNamespace());
  {
    const MutexLock lock(missed_mu_);
    missed_.emplace(std::move(missed), kube::ReadClocks());
    if (options_.grouping) scheduler_names_ = options_.grouping->scheduler_names;
  }
  if (!options_.admission.listen) return;
  admission_ = std::make_unique<AdmissionService>(
      AdmissionService::Ports{.api = *api_,
                              .may_write = [this] { return MayWrite(); },
                              .scheduler_name =
                                  [this] {
                                    const MutexLock lock(missed_mu_);
                                    return scheduler_names_.empty() ? "" : scheduler_names_.front();
                                  },
                              .warn = [this](const std::string& what) { Warn(what); },
                              .note =
                                  [this](const std::string& what) {
                                    log_.Info("webhook", {{"what", what}});
                                  }},
      options_.admission, OwnNamespace());
}

void ApiCluster::MakeStores() {
  orders_ = std::make_unique<kube::OrderStore>(
      kube::OrderStore::Ports{.api = *api_, .may_write = [this] { return MayWrite(); }},
      options_.orders);
  if (options_.usage != cluster::ObjectKey()) {
    usage_ = std::make_unique<kube::UsageKeeper>(
        kube::UsageKeeper::Ports{
            .api = *api_,
            .may_write = [this] { return Leads(); },  // the last time while it stops
            .now = options_.now,
            .used = options_.used,
            .adopt = [this](const queues::UsageRecord& used) { Tell(used); },
            .warn = [this](const std::string& what) { Warn(what); }},
        options_.usage);
  }
}

void ApiCluster::MakeReports() {
  const auto find = [this](const cluster::PodGroupUid& uid) { return feed_->FindServed(uid); };
  const auto may_write = [this] { return MayWrite(); };
  const auto warn = [this](const std::string& what) { Warn(what); };
  statuses_ = std::make_unique<kube::GangStatusWriter>(kube::GangStatusWriter::Ports{
      .api = *api_, .find = find, .may_write = may_write, .warn = warn, .wake = [this] {
        PokeAll(status_threads_);
      }});
  events_ = std::make_unique<kube::EventRecorder>(
      kube::EventRecorder::Ports{.api = *api_,
                                 .find = find,
                                 .may_write = may_write,
                                 .warn = warn,
                                 .wake = [this] { PokeAll(event_threads_); }},
      kube::EventRecorder::Options{.instance = options_.identity});
  requests_ = std::make_unique<kube::ProvisioningWriter>(kube::ProvisioningWriter::Ports{
      .api = *api_, .find = find, .may_write = may_write, .report = options_.report, .warn = warn});
  for (int i = 0; i < kube::ProvisioningWriter::kThreads; ++i) {
    request_threads_.push_back(std::make_unique<kube::StepThread>(
        [this](const kube::Clocks& now) { return requests_->Step(now); }));
  }
  for (int i = 0; i < kube::GangStatusWriter::kThreads; ++i) {
    status_threads_.push_back(std::make_unique<kube::StepThread>(
        [this](const kube::Clocks& now) { return statuses_->Step(now); }));
  }
  for (int i = 0; i < kube::EventRecorder::kThreads; ++i) {
    event_threads_.push_back(std::make_unique<kube::StepThread>(
        [this](const kube::Clocks& now) { return events_->Step(now); }));
  }
}

void ApiCluster::Stop() {
  if (!api_) return;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  // Nothing is written any more when the lease goes back, so that the next leader waits for nobody.
  // What is under way ends by itself: MayWrite says no to whatever would follow, but for what
  // queues have used, which that leader is to know.
  if (feed_) feed_->Quit();
  if (writer_) writer_->Stop();
  if (fence_thread_) fence_thread_->Stop();
  for (const auto& thread : status_threads_) thread->Stop();
  for (const auto& thread : event_threads_) thread->Stop();
  for (const auto& thread : request_threads_) thread->Stop();
  if (label_thread_) label_thread_->Stop();
  if (usage_thread_) {
    usage_thread_->Stop();
    if (Leads()) usage_->Finish();
  }
  const bool led = leading_.exchange(false);
  if (election_) election_->Stop();
  // After the lease, which is worth more: the next leader takes the label off as well.
  if (led && label_) label_->Drop();
  // A list that an API server takes its time for is not worth the lease.
  api_->Stop();
  if (feed_) feed_->Stop();
  // It was of use until now, and what it still wrote names the version that it had read.
  if (admission_) admission_->Stop();
}

void ApiCluster::Perform(const std::vector<engine::Action>& actions) {
  bool asks = false;
  for (const engine::Action& action : actions) {
    if (const auto* ask = std::get_if<engine::AskForNodes>(&action)) {
      requests_->Want(*ask);
      asks = true;
    } else if (const auto* withdraw = std::get_if<engine::WithdrawAsk>(&action)) {
      requests_->Want(*withdraw);
      asks = true;
    }
  }
  if (asks) PokeAll(request_threads_);
  writer_->Perform(actions);
}

void ApiCluster::Warn(const std::string& what) const { log_.Info("api server", {{"what", what}}); }

void ApiCluster::Tell(const engine::Fact& fact) { options_.apply({&fact, 1}); }

void ApiCluster::Apply(std::span<const engine::Fact> facts) {
  for (const engine::Fact& fact : facts) NoteHandedOver(fact);
  options_.apply(facts);
  for (const engine::Fact& fact : facts) {
    kube::MissedPods::Report report;
    {
      const MutexLock lock(missed_mu_);
      report = missed_->Note(fact, scheduler_names_, kube::ReadClocks());
    }
    Say(report);
  }
}

void ApiCluster::SetGrouping(kube::GroupingSettings settings) {
  {
    const MutexLock lock(missed_mu_);
    scheduler_names_ = settings.scheduler_names;
  }
  feed_->SetGrouping(std::move(settings));
}

void ApiCluster::Say(const kube::MissedPods::Report& report) {
  for (const engine::EmitEvent& event : report.events) Publish(event);
  for (const std::string& line : report.lines) log_.Info("schedule label", {{"what", line}});
}

ClusterReadings ApiCluster::Readings() const {
  ClusterReadings readings{api_->stats(), feed_->Health(), leading_};
  if (admission_) readings.admission = admission_->counts();
  const MutexLock lock(missed_mu_);
  readings.missed_pods = missed_->count();
  return readings;
}

void ApiCluster::NoteHandedOver(const engine::Fact& fact) {
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
    const std::optional<kube::HandedOverPod> handed_over = kube::MayBeBound(*pod);
    const MutexLock lock(mu_);
    if (handed_over && !leading_) {
      handed_over_.insert_or_assign(pod->uid, *handed_over);
    } else {
      handed_over_.erase(pod->uid);
    }
  } else if (const auto* gone = std::get_if<engine::PodRemoved>(&fact)) {
    const MutexLock lock(mu_);
    handed_over_.erase(gone->uid);
  }
}

std::string ApiCluster::Unsynced() const {
  std::string names;
  for (const kube::FeedHealth& feed : feed_->Health()) {
    if (!feed.synced && feed.needed) names += (names.empty() ? "" : ", ") + feed.resource;
  }
  return names.empty() ? "which PodGroups are served" : names;
}

void ApiCluster::Synced() {
  {
    const MutexLock lock(mu_);
    if (stopping_) return;
    log_.Info("synced with the API server");
    options_.synced();
    if (election_) return election_->Start();
  }
  TakeOver(0);
}

void ApiCluster::TakeOver(uint64_t term) {
  if (over_ || stopping_) return;
  if (term > 0) {
    // What the predecessor wrote last may not have come to us yet, and would be given out twice.
    if (!feed_->Refresh([this] { return !stopping_ && election_->MayWrite(); })) {
      Warn("cannot take over: nodes and pods could not be listed in this term");
      End();
      return;
    }
    if (!FenceOff(term)) {
      Warn("cannot take over: the term ended meanwhile");
      End();
      return;
    }
  }
  if (!ReadOrders()) {
    Warn("cannot take over: the orders of operators could not be read");
    End();
    return;
  }
  if (usage_) usage_->Begin(kube::ReadClocks().steady);
  {
    const MutexLock lock(mu_);
    if (stopping_) return;
    leading_ = true;
    handed_over_.clear();
    if (usage_) {
      usage_thread_ = std::make_unique<kube::StepThread>(
          [this](const kube::Clocks& now) { return usage_->Step(now); });
    }
  }
  kube::MissedPods::Report report;
  {
    const MutexLock lock(missed_mu_);
    report = missed_->Lead(kube::ReadClocks());
  }
  Say(report);
  statuses_->Begin(kube::ReadClocks().steady);
  if (label_thread_) label_thread_->Poke();
  if (admission_) admission_->Poke();
  options_.lead();
}

// Without the right to read them, or where they are malformed, none hold, and none are taken.
bool ApiCluster::ReadOrders() {
  if (options_.orders == cluster::ObjectKey()) return true;
  for (int tries = 0; tries < kOrderTries; ++tries) {
    const cluster::Result<engine::StandingOrders> orders = orders_->Read();
    if (orders.ok()) {
      Tell(*orders);
      return true;
    }
    Warn("orders of operators: " + orders.error().ToString());
    const bool passing = orders.error().code == cluster::Code::kIo ||
                         orders.error().code == cluster::Code::kUnavailable;
    if (!passing) return true;
    if (stopping_) return false;
    std::this_thread::sleep_for(kOrderPause);
  }
  return false;
}

Status ApiCluster::KeepOrders(const engine::StandingOrders& orders) {
  if (options_.orders == cluster::ObjectKey()) {
    return cluster::Error{cluster::Code::kUnavailable,
                          "there is no place where orders outlive this process: start serve with "
                          "--orders NAMESPACE/NAME (a ConfigMap), or with --lease",
                          ""};
  }
  return orders_->Write(orders);
}

bool ApiCluster::FenceOff(uint64_t term) {
  std::vector<kube::HandedOverPod> pods;
  {
    const MutexLock lock(mu_);
    for (const auto& [uid, pod] : handed_over_) pods.push_back(pod);
  }
  term_ = term;
  fence_ = std::make_unique<kube::Fence>(
      kube::Fence::Ports{.api = *api_,
                         .versions = versions_,
                         .leads = [this] { return !stopping_ && election_->MayWrite(); },
                         .tell = [this](const engine::Fact& fact) { Tell(fact); },
                         .warn = [this](const std::string& what) { Warn(what); }},
      kube::FenceOptions{});
  if (!fence_->Raise(pods, Epoch()).ok()) return false;
  const MutexLock lock(mu_);
  if (stopping_) return false;
  fence_thread_ = std::make_unique<kube::StepThread>(
      [this](const kube::Clocks& now) { return fence_->Step(now); });
  return true;
}

std::string ApiCluster::Epoch() const { return std::to_string(term_) + " " + options_.identity; }

void ApiCluster::Lose() {
  leading_ = false;
  End();
}

void ApiCluster::End() {
  if (!over_.exchange(true) && !stopping_) options_.lost();
}

void ApiCluster::Publish(const engine::PatchGang& gang) {
  statuses_->Want(gang, kube::ReadClocks().steady);
  PokeAll(status_threads_);
}

void ApiCluster::Publish(const engine::EmitEvent& event) {
  if (event.on_orders) {
    engine::EmitEvent on_object = event;
    on_object.key = options_.orders;
    events_->Record(on_object, kube::ReadClocks());
  } else {
    events_->Record(event, kube::ReadClocks());
  }
  PokeAll(event_threads_);
}

}  // namespace muster::extender
