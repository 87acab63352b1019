#include "extender/service.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "config/file.hpp"
#include "engine/scheduler.hpp"
#include "extender/embedded/embedded_cluster.hpp"
#include "extender/embedded/http_extender.hpp"
#include "extender/embedded/manifests.hpp"
#include "extender/engine_loop.hpp"
#include "extender/file_watch.hpp"
#include "extender/live/api_cluster.hpp"
#include "extender/live/cluster_metrics.hpp"
#include "extender/live/grouping_reach.hpp"
#include "extender/live/start_policy.hpp"
#include "extender/pages/api.hpp"
#include "extender/pages/order_desk.hpp"
#include "extender/server_options.hpp"
#include "extender/telemetry/fabric_report.hpp"
#include "extender/telemetry/metrics.hpp"
#include "extender/verbs/caller_access.hpp"
#include "extender/verbs/handlers.hpp"
#include "extender/verbs/http_verbs.hpp"
#include "extender/version.hpp"
#include "http/server/renewable_server.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDrainPoll{20};
constexpr std::chrono::milliseconds kFollowFabric{10'000};  // no more often
constexpr std::chrono::milliseconds kLastAnswers{2'000};    // for answers that are on their way

cluster::Time WallClock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return cluster::Time(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

}  // namespace

class Service::Impl {
 public:
  Impl(ServiceOptions options, const Logger& log)
      : options_(std::move(options)),
        log_(log),
        begin_(SteadyClock::now()),
        policy_watch_(options_.policy_file) {}
  ~Impl() { Shutdown(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status Start();
  std::uint16_t extender_port() const { return extender_server_ ? extender_server_->port() : 0; }
  std::uint16_t api_port() const { return api_server_ ? api_server_->port() : 0; }
  // `retry`: what went wrong last time is not said again.
  Status ReloadPolicy(bool retry = false);
  void SetGrouping(const config::Policy& policy) {
    if (api_cluster_) api_cluster_->SetGrouping(GroupingOf(policy));
    if (cluster_) cluster_->SetGrouping(GroupingOf(policy));
  }
  void ReloadPolicyIfChanged() {
    if (options_.policy_file.empty()) return;
    const bool changed = policy_watch_.Changed();
    const bool retry = retry_at_ && SteadyClock::now() >= *retry_at_;
    // Logged and counted there; nobody waits for it.
    if (changed || retry) static_cast<void>(ReloadPolicy(!changed));
  }
  void FollowFabric();
  void Shutdown();
  bool lost() const { return lost_; }

 private:
  Status LoadPolicy();
  Status SetClock();
  Status StartExtender();
  Status StartCluster();
  Status StartEmbeddedCluster();
  Status StartApiCluster();
  void MakeLoop(engine::ActionPort& port);
  void Lead();
  void Lose();
  Status StartApi();
  Result<http::ServerOptions> ExtenderOptions(const config::ExtenderSettings& settings) const;
  Result<http::ServerOptions> ApiOptions(const config::MetricsSettings& settings) const;
  Status RenewServers(const config::Policy& before, const config::Policy& policy);
  Result<http::ClientOptions> SchedulerClient() const;
  std::string MetricsPage();
  std::string PolicyPage() const;
  config::Policy InForce() const {
    const MutexLock lock(mu_);
    return policy_;
  }
  std::string NotReady() const;
  std::string OrdersClosed() const;  // why; empty: they are taken
  void FinishHeldBinds();
  void LogNotes(const config::Policy& policy) const {
    for (const std::string& note : policy.notes) log_.Info("policy", {{"note", note}});
    for (const std::string& note : UnkeptPodPaths(policy.grouping))
      log_.Info("policy", {{"note", note}});
  }
  void LogFaults(const std::string& message, const std::vector<Error>& faults) const {
    for (const Error& fault : faults) log_.Error(message, {{"error", fault.ToString()}});
  }
  // The engine's time: milliseconds since 1970, because API objects give the times that outlive the
  // process in them. Never jumps: the wall clock as it was at the start (the API server's, where
  // this host's runs ahead of it: ages are counted from times that it has written), and what has
  // passed since.
  cluster::Time Now() const {
    const auto passed = SteadyClock::now() - begin_;
    return began_ +
           cluster::Duration(std::chrono::duration_cast<std::chrono::milliseconds>(passed).count());
  }

  // Constant after Start.
  const ServiceOptions options_;
  const Logger& log_;
  const SteadyClock::time_point begin_;
  cluster::Time began_ = WallClock();
  config::Policy started_with_;

  FileWatch policy_watch_;
  std::optional<SteadyClock::time_point> retry_at_;  // the file is good, its servers cannot start
  std::string refused_;                              // why, at the last try
  mutable cluster::Mutex mu_;
  config::Policy policy_ MUSTER_GUARDED_BY(mu_);  // in force

  FabricReport fabric_report_{log_};
  std::optional<SteadyClock::time_point> fabric_followed_;

  Metrics metrics_{kVersion};
  ClusterMetrics cluster_metrics_;
  std::unique_ptr<engine::Scheduler> scheduler_;
  std::unique_ptr<ExtenderHandlers> handlers_;
  std::unique_ptr<http::RenewableServer> extender_server_;
  std::unique_ptr<EmbeddedCluster> cluster_;  // one of these two
  std::unique_ptr<ApiCluster> api_cluster_;
  std::unique_ptr<EngineLoop> loop_;
  std::unique_ptr<CallerAccess> access_;
  std::unique_ptr<ApiHandlers> api_;
  std::unique_ptr<OrderDesk> orders_;
  std::unique_ptr<http::RenewableServer> api_server_;
  bool shut_down_ = false;
  std::atomic<bool> lost_{false};
};

Status Service::Impl::Start() {
  for (Status (Impl::*step)() : {&Impl::LoadPolicy, &Impl::SetClock, &Impl::StartExtender,
                                 &Impl::StartCluster, &Impl::StartApi}) {
    if (Status done = (this->*step)(); !done.ok()) return done;
  }
  if (cluster_) handlers_->SetAvailability(Availability::kReady);
  log_.Info(cluster_ ? "ready" : "listening",
            {{"extender", std::to_string(extender_port())},
             {"api", std::to_string(api_port())},
             {"tls", started_with_.extender.tls.cert_file.empty() ? "no" : "yes"}});
  return Ok{};
}

Status Service::Impl::LoadPolicy() {
  config::PolicyReading read = ReadStartPolicy(options_.policy_file, options_.tls);
  if (read.faults.size() > 1) LogFaults("policy refused", read.faults);
  Result<config::Policy> policy = std::move(read).Take();
  if (!policy.ok()) return policy.error();
  LogNotes(*policy);
  started_with_ = *std::move(policy);
  const MutexLock lock(mu_);
  policy_ = started_with_;
  return Ok{};
}

// Before any thread asks for the time.
Status Service::Impl::SetClock() {
  if (!options_.access.given()) return Ok{};
  const Result<kube::ClientConfig> client = ReadClientConfig(options_.access);
  if (!client.ok()) return client.error();
  const cluster::Duration ahead = RunsAhead(*client, WallClock);
  if (ahead == cluster::Duration(0)) return Ok{};
  began_ = began_ + cluster::Duration(-ahead.value());
  log_.Info("this host's clock runs ahead, the API server's counts",
            {{"seconds", std::to_string(ahead.value() / 1000)}});
  return Ok{};
}

Status Service::Impl::StartExtender() {
  scheduler_ = std::make_unique<engine::Scheduler>(started_with_.engine);
  handlers_ = std::make_unique<ExtenderHandlers>(
      ExtenderHandlers::Ports{.scheduler = [this]() -> engine::Scheduler& { return *scheduler_; },
                              .now = [this] { return Now(); },
                              .told = [this] { loop_->Poke(); },
                              .group =
                                  [this](cluster::Pod& pod) {
                                    return api_cluster_ ? api_cluster_->AskGrouping(pod) : "";
                                  },
                              .metrics = &metrics_},
      ExtenderHandlers::Options{});
  Result<http::ServerOptions> options = ExtenderOptions(started_with_.extender);
  if (!options.ok()) return options.error();
  extender_server_ = std::make_unique<http::RenewableServer>(
      [this](http::Server& server) { MountExtenderVerbs(server, *handlers_); });
  return extender_server_->Start(*std::move(options));
}

Result<http::ServerOptions> Service::Impl::ExtenderOptions(
    const config::ExtenderSettings& settings) const {
  Result<http::ServerOptions> options = ExtenderServerOptions(settings);
  if (!options.ok()) return options.error();
  if (options_.listen) {
    options->host = options_.listen->host;
    options->port = options_.listen->port;
  }
  options->on_event = [this](const std::string& event) {
    log_.Info(event, {{"port", "extender"}});
  };
  return options;
}

Result<http::ServerOptions> Service::Impl::ApiOptions(
    const config::MetricsSettings& settings) const {
  Result<http::ServerOptions> options = ApiServerOptions(settings);
  if (!options.ok()) return options.error();
  if (options_.api) {
    options->host = options_.api->host;
    options->port = options_.api->port;
  }
  options->on_event = [this](const std::string& event) { log_.Info(event, {{"port", "api"}}); };
  return options;
}

// Both or none. What is held goes on in the server that took it, at most for the httpTimeout that
// its caller has.
Status Service::Impl::RenewServers(const config::Policy& before, const config::Policy& policy) {
  using Next = http::RenewableServer::Next;
  const auto prepare = [](const http::RenewableServer& server, Result<http::ServerOptions> options,
                          bool same) -> Result<Next> {
    if (!options.ok()) return options.error();
    return server.Prepare(*std::move(options),
                          same ? http::SameAddress::kYes : http::SameAddress::kNo);
  };
  Next extender;
  Next api;
  config::ExtenderSettings settings = policy.extender;
  settings.http_timeout = before.extender.http_timeout;  // the engine's alone
  if (settings != before.extender) {
    const bool same = options_.listen || settings.address == before.extender.address;
    auto next = prepare(*extender_server_, ExtenderOptions(settings), same);
    if (!next.ok()) return next.error();
    extender = *std::move(next);
  }
  if (policy.metrics != before.metrics) {
    const bool same = options_.api || policy.metrics.address == before.metrics.address;
    auto next = prepare(*api_server_, ApiOptions(policy.metrics), same);
    if (!next.ok()) return next.error();
    api = *std::move(next);
  }
  const std::chrono::milliseconds grace(before.extender.http_timeout.value());
  if (extender.server) extender_server_->Adopt(std::move(extender), grace);
  if (api.server) api_server_->Adopt(std::move(api), grace);
  return Ok{};
}

// kube-scheduler's tlsConfig, as it were.
Result<http::ClientOptions> Service::Impl::SchedulerClient() const {
  const config::ExtenderSettings& settings = started_with_.extender;
  http::ClientOptions client;
  const Result<http::HostPort> address = http::ParseHostPort(settings.address);
  if (!address.ok()) return address.error();
  const std::string host = options_.listen ? options_.listen->host : address->host;
  client.host = host.empty() || host == "0.0.0.0" || host == "::" ? "127.0.0.1" : host;
  client.port = extender_server_->port();
  client.timeout = std::chrono::milliseconds(settings.http_timeout.value());
  if (settings.tls.cert_file.empty()) {
    for (const auto& [flag, file] : {std::pair("--scheduler-ca", &options_.scheduler_ca_file),
                                     std::pair("--scheduler-cert", &options_.scheduler_cert_file),
                                     std::pair("--scheduler-key", &options_.scheduler_key_file)}) {
      if (!file->empty()) {
        return Error{Code::kInvalidArgument,
                     "expected a certificate of the extender port beside it (--tls-cert and "
                     "--tls-key, or extender.tls of the policy): without one there is no TLS",
                     flag};
      }
    }
    return client;
  }
  if (!settings.tls.client_ca_file.empty() && options_.scheduler_cert_file.empty()) {
    return Error{Code::kInvalidArgument,
                 "the extender port asks for client certificates, so the embedded kube-scheduler "
                 "needs one: --scheduler-cert and --scheduler-key",
                 ""};
  }
  for (const std::string* file :
       {&options_.scheduler_ca_file, &options_.scheduler_cert_file, &options_.scheduler_key_file}) {
    if (file->empty()) continue;
    if (Status readable = config::CheckReadable(*file); !readable.ok()) return readable.error();
  }
  client.tls = true;
  client.ca_file =
      options_.scheduler_ca_file.empty() ? settings.tls.cert_file : options_.scheduler_ca_file;
  client.cert_file = options_.scheduler_cert_file;
  client.key_file = options_.scheduler_key_file;
  return client;
}

Status Service::Impl::StartCluster() {
  return options_.access.given() ? StartApiCluster() : StartEmbeddedCluster();
}

Status Service::Impl::StartApiCluster() {
  ApiCluster::Options options;
  Result<kube::ClientConfig> client = ReadClientConfig(options_.access);
  if (!client.ok()) return client.error();
  options.client = *std::move(client);
  options.client.user_agent = std::string("muster/") + kVersion;
  options.lease = options_.access.lease;
  options.identity = OwnIdentity();
  options.own_pod = OwnPod();
  options.orders = options_.access.orders;
  options.usage = options_.access.usage;
  options.admission = options_.access.admission;
  options.grouping = GroupingOf(started_with_);
  options.now = [this] { return Now(); };
  options.used = [this] { return scheduler_->UsedSoFar(); };
  options.apply = [this](std::span<const engine::Fact> facts) { loop_->Apply(facts); };
  options.report = [this](const engine::Outcome& outcome) { loop_->Report(outcome); };
  options.synced = [this] { handlers_->SetAvailability(Availability::kNotLeader); };
  options.lead = [this] { Lead(); };
  options.lost = [this] { Lose(); };
  api_cluster_ = std::make_unique<ApiCluster>(std::move(options), log_);
  MakeLoop(*api_cluster_);
  return api_cluster_->Start();
}

// From here on decisions are made and carried out. What was read so far is all there is: the engine
// was told the facts as they came and has decided nothing yet.
void Service::Impl::Lead() {
  loop_->Start();
  handlers_->SetAvailability(Availability::kReady);
  log_.Info("ready, this replica leads");
}

void Service::Impl::Lose() {
  handlers_->SetAvailability(Availability::kNotLeader);
  handlers_->RefuseOpenBinds("muster: not the leader any more, another replica answers");
  log_.Error("leadership lost");
  lost_ = true;
}

void Service::Impl::MakeLoop(engine::ActionPort& port) {
  loop_ = std::make_unique<EngineLoop>(EngineLoop::Parts{
      .scheduler = *scheduler_,
      .port = port,
      .answer = [this](const engine::AnswerBind& answer) { handlers_->Deliver(answer); },
      .now = [this] { return Now(); },
      .metrics = metrics_,
      .log = log_});
}

Status Service::Impl::StartEmbeddedCluster() {
  const Result<http::ClientOptions> client = SchedulerClient();
  if (!client.ok()) return client.error();
  const Result<Manifests> manifests =
      options_.cluster_file.empty() ? DefaultCluster()
                                    : ReadManifestFile(options_.cluster_file, Malformed::kRefused);
  if (!manifests.ok()) return manifests.error();
  for (const std::string& warning : manifests->warnings)
    log_.Info("cluster file", {{"warning", warning}});

  EmbeddedCluster::Options options;
  options.api.seed = options_.seed;
  options.api.gated_schedulers = started_with_.engine.scheduler_names;
  options.scheduler.seed = options_.seed;
  options.scheduler.scheduler_names = started_with_.engine.scheduler_names;
  options.scheduler.scheduler_names.push_back("default-scheduler");
  options.scheduler.http_timeout = started_with_.extender.http_timeout;
  options.kubelet.seed = options_.seed;
  options.grouping = GroupingOf(started_with_);
  options.now = [this] { return Now(); };
  options.apply = [this](std::span<const engine::Fact> facts) { loop_->Apply(facts); };
  options.report = [this](const engine::Outcome& outcome) { loop_->Report(outcome); };
  options.warn = [this](const std::string& what) {
    log_.Info("embedded cluster", {{"warning", what}});
  };
  options.extender = [&client](std::function<void(EmbeddedCluster::Task)> post) {
    return std::make_unique<HttpExtender>(*client, std::move(post));
  };
  cluster_ = std::make_unique<EmbeddedCluster>(std::move(options));
  MakeLoop(*cluster_);
  cluster_->Start();
  loop_->Start();
  Status created = Ok{};
  cluster_->Do([&](sim::ApiServer& api) { created = CreateObjects(api, manifests->objects); });
  return created;
}

Status Service::Impl::StartApi() {
  access_ = std::make_unique<CallerAccess>(
      CallerAccess::Ports{.settings = [this] { return InForce().operators; },
                          .public_pages = [this] { return InForce().metrics.public_pages; },
                          .reviewer = api_cluster_ ? &api_cluster_->reviewer() : nullptr});
  api_ = std::make_unique<ApiHandlers>(
      ApiHandlers::Ports{.scheduler = *scheduler_,
                         .now = [this] { return Now(); },
                         .not_ready = [this] { return NotReady(); },
                         .metrics = [this] { return MetricsPage(); },
                         .policy = [this] { return PolicyPage(); },
                         .grouping = [this] { return GroupingOf(InForce()); },
                         .access = *access_,
                         .cluster = cluster_.get()});
  orders_ = std::make_unique<OrderDesk>(OrderDesk::Ports{
      .scheduler = *scheduler_,
      .now = [this] { return Now(); },
      .told = [this] { loop_->Poke(); },
      .closed = [this] { return OrdersClosed(); },
      .keep =
          [this](const engine::StandingOrders& orders) {
            return api_cluster_ ? api_cluster_->KeepOrders(orders) : Status(Ok{});
          },
      .ordered = [this](const engine::Order& order, bool ok) { metrics_.Ordered(order, ok); },
      .access = *access_,
      .log = log_});
  Result<http::ServerOptions> options = ApiOptions(started_with_.metrics);
  if (!options.ok()) return options.error();
  api_server_ = std::make_unique<http::RenewableServer>([this](http::Server& server) {
    api_->Mount(server);
    orders_->Mount(server);
  });
  return api_server_->Start(*std::move(options));
}

std::string Service::Impl::MetricsPage() {
  engine::Counts counts = scheduler_->Count();
  if (!api_cluster_) return metrics_.Text(counts, extender_server_->stats());
  const ClusterReadings readings = api_cluster_->Readings();
  if (!readings.leading) {  // what it holds of gangs was never judged
    std::fill(std::begin(counts.gangs), std::end(counts.gangs), 0);
    counts.waiting.clear();
  }
  return metrics_.Text(counts, extender_server_->stats()) + cluster_metrics_.Text(readings);
}

std::string Service::Impl::PolicyPage() const {
  const std::string source =
      options_.policy_file.empty() ? "defaults, no policy file is given" : options_.policy_file;
  return "# source: " + LogValue(source) + "\n" + config::WritePolicy(InForce());
}

std::string Service::Impl::OrdersClosed() const {
  if (handlers_->availability() == Availability::kReady) return {};
  if (handlers_->availability() == Availability::kNotLeader) {
    return "this replica does not lead: ask the leader, the pod with label " +
           std::string(kube::kLeaderLabel);
  }
  return "no orders are taken: " + NotReady();
}

std::string Service::Impl::NotReady() const {
  switch (handlers_->availability()) {
    case Availability::kReady:
    case Availability::kNotLeader:  // it could lead at any moment, and says so when asked
      return {};
    case Availability::kNotSynced:
      return "not synced: " + (api_cluster_ ? api_cluster_->Unsynced() : "starting");
    case Availability::kDraining:
    case Availability::kStopped:
      break;
  }
  return "shutting down";
}

Status Service::Impl::ReloadPolicy(bool retry) {
  if (options_.policy_file.empty()) {
    log_.Info("nothing to reload, serve was started without --policy");
    return Error{Code::kInvalidArgument, "there is no policy file to reload", ""};
  }
  policy_watch_.Forget();
  retry_at_.reset();
  config::PolicyReading read = ReadStartPolicy(options_.policy_file, options_.tls);
  std::vector<std::string> waiting;
  if (read.ok()) {
    // A field over which a flag takes precedence has not changed.
    if (options_.listen) read.policy.extender.address = started_with_.extender.address;
    if (options_.api) read.policy.metrics.address = started_with_.metrics.address;
    if (cluster_) waiting = KeepForEmbedded(started_with_, &read.policy);
    Status renewed = RenewServers(InForce(), read.policy);
    if (!renewed.ok()) read.faults.push_back(renewed.error());
    if (!renewed.ok()) retry_at_ = SteadyClock::now() + options_.reload_retry;
    const std::string said =
        std::exchange(refused_, renewed.ok() ? "" : renewed.error().ToString());
    if (retry && !renewed.ok() && said == refused_) return renewed.error();
  }
  metrics_.PolicyReloaded(read.ok());
  LogFaults("policy not reloaded, the last good one stays", read.faults);
  Result<config::Policy> policy = std::move(read).Take();
  if (!policy.ok()) return policy.error();
  LogNotes(*policy);
  if (policy->engine.placement.fabric != InForce().engine.placement.fabric)
    fabric_report_.ForgetPlaces();
  // Pods that are to be in gangs now are so before anything else counts for them.
  if (policy->by_owner) SetGrouping(*policy);
  scheduler_->SetOptions(policy->engine);
  if (!policy->by_owner) SetGrouping(*policy);
  loop_->Poke();
  {
    const MutexLock lock(mu_);
    policy_ = *std::move(policy);
  }
  log_.Info("policy reloaded", {{"file", options_.policy_file}});
  for (const std::string& field : waiting) {
    log_.Info("a changed field needs a restart: the embedded cluster was started with it",
              {{"field", field}});
  }
  return Ok{};
}

void Service::Impl::FollowFabric() {
  const SteadyClock::time_point now = SteadyClock::now();
  if (fabric_followed_ && now < *fabric_followed_ + kFollowFabric) return;
  fabric_followed_ = now;
  const engine::FabricView view = scheduler_->Fabric(0);
  fabric_report_.Follow(view);
  metrics_.FabricFindings(static_cast<std::int64_t>(view.findings.size()));
}

void Service::Impl::FinishHeldBinds() {
  const auto end = SteadyClock::now() + options_.drain_timeout;
  while (handlers_->tickets().open() > 0 && SteadyClock::now() < end) {
    std::this_thread::sleep_for(kDrainPoll);
  }
  if (const std::size_t left = handlers_->tickets().open(); left > 0) {
    log_.Info("held bind calls are refused", {{"calls", std::to_string(left)}});
  }
}

void Service::Impl::Shutdown() {
  if (shut_down_) return;
  shut_down_ = true;
  if (handlers_) {
    // Bind calls are still taken, so that gangs at the barrier become complete.
    if (handlers_->availability() == Availability::kReady) {
      handlers_->SetAvailability(Availability::kDraining);
      FinishHeldBinds();
    }
    handlers_->SetAvailability(Availability::kStopped);
    handlers_->RefuseOpenBinds("muster is shutting down");
  }
  if (orders_) orders_->Stop();
  if (cluster_) cluster_->Stop();
  // No decision after the last write: the loop ends before the writers do.
  if (api_cluster_) {
    loop_->Stop();
    api_cluster_->Stop();
  }
  if (extender_server_) {
    extender_server_->Drain(kLastAnswers);
    handlers_->RefuseOpenBinds("muster is shutting down");
    extender_server_->Stop();
  }
  if (api_server_) {
    api_server_->Drain(kLastAnswers);
    api_server_->Stop();
  }
  if (loop_) loop_->Stop();
  if (extender_server_) log_.Info("stopped");
}

Service::Service(ServiceOptions options, const Logger& log)
    : impl_(std::make_unique<Impl>(std::move(options), log)) {}
Service::~Service() = default;

Status Service::Start() { return impl_->Start(); }
std::uint16_t Service::extender_port() const { return impl_->extender_port(); }
std::uint16_t Service::api_port() const { return impl_->api_port(); }
Status Service::ReloadPolicy() { return impl_->ReloadPolicy(); }
void Service::ReloadPolicyIfChanged() { impl_->ReloadPolicyIfChanged(); }
void Service::FollowFabric() { impl_->FollowFabric(); }
void Service::Shutdown() { impl_->Shutdown(); }
bool Service::lost() const { return impl_->lost(); }

}  // namespace muster::extender
