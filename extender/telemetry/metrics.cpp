#include "extender/telemetry/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cluster/base/mutex.hpp"

namespace muster::extender {
namespace {

const char* WordOf(engine::WindowEnd end) {
  switch (end) {
    case engine::WindowEnd::kStarted:
      return "started";
    case engine::WindowEnd::kPassed:
      return "passed";
    case engine::WindowEnd::kDeleted:
      return "deleted";
    case engine::WindowEnd::kNodeGone:
      return "node_gone";
    case engine::WindowEnd::kCancelled:
      return "cancelled";
    case engine::WindowEnd::kPolicy:
      break;
  }
  return "policy";
}

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

constexpr std::array<const char*, kExtenderVerbs> kVerbNames = {"filter", "prioritize", "preempt",
                                                                "bind"};
constexpr std::array<const char*, kVerbResults> kResultNames = {"ok", "refused", "error"};
constexpr std::array<const char*, kActionKinds> kActionNames = {
    "nominate",   "remove_gate", "wake",        "record", "bind",      "end_turn",    "evict",
    "patch_gang", "event",       "answer_bind", "tell",   "ask_nodes", "withdraw_ask"};
static_assert(std::variant_size_v<engine::Action> == kActionKinds);
constexpr std::array<const char*, 5> kOutcomeNames = {"done", "gone", "conflict", "retry",
                                                      "refused"};

// By the alternative of engine::Order::what.
constexpr std::array<const char*, 4> kOrderNames = {"priority", "queue", "reclaim", "cancel"};
static_assert(std::variant_size_v<decltype(engine::Order::what)> == kOrderNames.size());

struct RefusalCause {
  const char* name;
  std::uint64_t http::ServerStats::*count;
};
constexpr std::array<RefusalCause, 7> kRefusalCauses = {{
    {"full", &http::ServerStats::refused_full},
    {"displaced", &http::ServerStats::displaced},
    {"malformed", &http::ServerStats::refused_bad},
    {"client", &http::ServerStats::refused_client},
    {"timeout", &http::ServerStats::timeouts},
    {"tls", &http::ServerStats::tls_failures},
    {"exception", &http::ServerStats::handler_exceptions},
}};

// A Filter answers in a fraction of a millisecond, a held Bind may take a minute.
Histogram::BucketBoundaries LatencyBuckets() {
  return {5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2,
          0.1,  0.25, 0.5,    1,    2.5,  5,      10,   30,   60};
}

// A gang may start at once or wait for a week.
Histogram::BucketBoundaries WaitBuckets() {
  return {0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600};
}

// Below 0: it started before.
Histogram::BucketBoundaries LateBuckets() {
  return {-24 * 3600, -4 * 3600, -3600, -900, -300, -60,      -10,      0,
          10,         60,        300,   900,  3600, 4 * 3600, 24 * 3600};
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

const char* ToString(ExtenderVerb verb) { return kVerbNames[static_cast<std::size_t>(verb)]; }

const char* ActionKindName(std::size_t kind) {
  return kind < kActionNames.size() ? kActionNames[kind] : "unknown";
}

class Metrics::Impl {
 public:
  explicit Impl(const std::string& version) {
    BuildGauge()
        .Name("muster_build_info")
        .Help("1, with the version as label")
        .Register(registry_)
        .Add({{"version", version}})
        .Set(1);
    auto& seconds = BuildHistogram()
                        .Name("muster_extender_request_seconds")
                        .Help("Time from a complete request to its answer; for bind with holding")
                        .Register(registry_);
    auto& requests = BuildCounter()
                         .Name("muster_extender_requests_total")
                         .Help("Calls of kube-scheduler by verb and result")
                         .Register(registry_);
    for (std::size_t verb = 0; verb < kVerbNames.size(); ++verb) {
      latency[verb] = &seconds.Add({{"verb", kVerbNames[verb]}}, LatencyBuckets());
      for (std::size_t result = 0; result < kResultNames.size(); ++result) {
        calls[verb][result] =
            &requests.Add({{"verb", kVerbNames[verb]}, {"result", kResultNames[result]}});
      }
    }
    auto& actions = BuildCounter()
                        .Name("muster_actions_sent_total")
                        .Help("Writes that the engine asked for, by kind")
                        .Register(registry_);
    auto& outcomes = BuildCounter()
                         .Name("muster_action_outcomes_total")
                         .Help("What became of writes whose outcome is awaited")
                         .Register(registry_);
    for (std::size_t kind = 0; kind < kActionNames.size(); ++kind) {
      sent[kind] = &actions.Add({{"kind", kActionNames[kind]}});
      for (std::size_t outcome = 0; outcome < kOutcomeNames.size(); ++outcome) {
        ended[kind][outcome] =
            &outcomes.Add({{"kind", kActionNames[kind]}, {"outcome", kOutcomeNames[outcome]}});
      }
    }
    AddPlanning();
    AddGauges();
  }

  std::string Text(const engine::Counts& counts, const http::ServerStats& server) {
    const cluster::MutexLock lock(mu_);
    SetGangs(counts);
    SetServer(server);
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  prometheus::Registry registry_;
  // Gauges are set and read as one.
  cluster::Mutex mu_;

  Gauge& OneGauge(const std::string& name, const std::string& help) {
    return BuildGauge().Name(name).Help(help).Register(registry_).Add({});
  }

  void AddPlanning() {
    wait = &BuildHistogram()
                .Name("muster_gang_wait_seconds")
                .Help("From a gang being complete to its minimum being bound")
                .Register(registry_)
                .Add({}, WaitBuckets());
    late = &BuildHistogram()
                .Name("muster_gang_start_late_seconds")
                .Help("Actual start less the one first expected, of gangs that had booked room")
                .Register(registry_)
                .Add({}, LateBuckets());
    plan = &BuildHistogram()
                .Name("muster_plan_seconds")
                .Help("Duration of engine rounds in which at least one plan was attempted")
                .Register(registry_)
                .Add({}, LatencyBuckets());
    auto& attempts = BuildCounter()
                         .Name("muster_plans_total")
                         .Help("Plans attempted, by what came of them")
                         .Register(registry_);
    planned = &attempts.Add({{"result", "reserved"}});
    not_planned = &attempts.Add({{"result", "no_fit"}});
    auto& reloads = BuildCounter()
                        .Name("muster_policy_reloads_total")
                        .Help("Attempts to load a changed policy file")
                        .Register(registry_);
    reloads_ok = &reloads.Add({{"result", "ok"}});
    reloads_failed = &reloads.Add({{"result", "failed"}});
    auto& ordered = BuildCounter()
                        .Name("muster_orders_total")
                        .Help("Orders of operators, by what came of them")
                        .Register(registry_);
    for (std::size_t kind = 0; kind < orders.size(); ++kind) {
      orders[kind][0] = &ordered.Add({{"kind", kOrderNames[kind]}, {"result", "ok"}});
      orders[kind][1] = &ordered.Add({{"kind", kOrderNames[kind]}, {"result", "refused"}});
    }
    fabric_findings =
        &OneGauge("muster_fabric_findings", "What is wrong with the nodes' labels of the fabric");
  }

  void AddGauges() {
    auto& gangs = BuildGauge().Name("muster_gangs").Help("Gangs by state").Register(registry_);
    for (int state = 0; state < engine::kGangStates; ++state) {
      by_state_[static_cast<std::size_t>(state)] =
          &gangs.Add({{"state", engine::ToString(static_cast<engine::GangState>(state))}});
    }
    waiting_ = &BuildGauge()
                    .Name("muster_gangs_waiting")
                    .Help("Gangs not started, by the code of their reason")
                    .Register(registry_);
    nodes_ = &OneGauge("muster_nodes", "Nodes known");
    auto& left_out = BuildGauge()
                         .Name("muster_left_out")
                         .Help("Nodes, and GPUs of others, on which members failed at their start")
                         .Register(registry_);
    nodes_left_out_ = &left_out.Add({{"kind", "node"}});
    gpus_left_out_ = &left_out.Add({{"kind", "gpu"}});
    auto& failed = BuildCounter()
                       .Name("muster_start_failures_total")
                       .Help("Members that failed on their node at admission or soon after")
                       .Register(registry_);
    starts_refused_ = &failed.Add({{"kind", "admission"}});
    starts_failed_ = &failed.Add({{"kind", "container"}});
    auto& picks =
        BuildCounter()
            .Name("muster_kubelet_picks_total")
            .Help("Pods bound with whole GPUs of NVIDIA's device plugin, by its expected choice")
            .Register(registry_);
    for (std::size_t outcome = 0; outcome < picks_.size(); ++outcome) {
      const auto one = static_cast<topology::PickOutcome>(outcome);
      picks_[outcome] = &picks.Add({{"outcome", std::string(topology::ToString(one))}});
    }
    AddScaleUps();
    restart_kept_ = &OneGauge("muster_restart_kept_pods",
                              "Pods whose devices are kept for their gang's restart");
    auto& windows = BuildCounter()
                        .Name("muster_restart_windows_total")
                        .Help("Restart windows of gangs that died early, by how they ended")
                        .Register(registry_);
    for (std::size_t end = 0; end < windows_.size(); ++end) {
      windows_[end] = &windows.Add({{"outcome", WordOf(static_cast<engine::WindowEnd>(end))}});
    }
    pods_ = &OneGauge("muster_pods", "Pods known");
    reservations_ = &OneGauge("muster_reservations", "Pods with a reservation");
    held_ = &OneGauge("muster_held_binds", "Bind calls held at the barrier");
    gpu_capacity_ = &OneGauge("muster_gpu_capacity", "GPUs on known nodes");
    gpu_free_ = &OneGauge("muster_gpu_free", "GPUs neither bound nor reserved");
    connections_ = &OneGauge("muster_http_connections", "Open connections of the extender port");
    workers_ = &OneGauge("muster_http_workers", "Threads of the extender port");
    auto& refused = BuildCounter()
                        .Name("muster_http_refused_total")
                        .Help("What the extender port refused or closed, by cause")
                        .Register(registry_);
    for (std::size_t cause = 0; cause < kRefusalCauses.size(); ++cause) {
      refused_[cause] = &refused.Add({{"cause", kRefusalCauses[cause].name}});
    }
  }

  void AddScaleUps() {
    scale_ups_ = &OneGauge("muster_scale_up_gangs", "Gangs for which nodes are asked for");
    auto& requests = BuildGauge()
                         .Name("muster_provisioning_requests")
                         .Help("ProvisioningRequests of gangs that wait, by state")
                         .Register(registry_);
    for (std::size_t state = 0; state < requests_.size(); ++state) {
      const auto one = static_cast<cluster::RequestState>(state);
      requests_[state] = &requests.Add({{"state", cluster::ToString(one)}});
    }
  }

  void SetGangs(const engine::Counts& counts) MUSTER_REQUIRES(mu_) {
    for (std::size_t state = 0; state < by_state_.size(); ++state) {
      by_state_[state]->Set(static_cast<double>(counts.gangs[state]));
    }
    // A code that nobody waits for any more goes back to zero instead of disappearing.
    for (const auto& [code, gauge] : by_reason_) gauge->Set(0);
    for (const auto& [code, count] : counts.waiting) {
      Gauge*& gauge = by_reason_[code];
      if (gauge == nullptr) gauge = &waiting_->Add({{"reason", engine::ToString(code)}});
      gauge->Set(static_cast<double>(count));
    }
    nodes_->Set(static_cast<double>(counts.nodes));
    nodes_left_out_->Set(static_cast<double>(counts.nodes_left_out));
    gpus_left_out_->Set(static_cast<double>(counts.gpus_left_out));
    // The engine counts by itself, see SetServer.
    Raise(*starts_refused_, counts.starts_refused);
    Raise(*starts_failed_, counts.starts_failed);
    for (std::size_t outcome = 0; outcome < picks_.size(); ++outcome)
      Raise(*picks_[outcome], counts.kubelet_picks[outcome]);
    scale_ups_->Set(static_cast<double>(counts.scale_ups));
    for (std::size_t state = 0; state < requests_.size(); ++state)
      requests_[state]->Set(static_cast<double>(counts.requests[state]));
    restart_kept_->Set(static_cast<double>(counts.restart_kept_pods));
    for (std::size_t end = 0; end < windows_.size(); ++end)
      Raise(*windows_[end], counts.restart_windows[end]);
    pods_->Set(static_cast<double>(counts.pods));
    reservations_->Set(static_cast<double>(counts.reservations));
    held_->Set(static_cast<double>(counts.held_binds));
    gpu_capacity_->Set(static_cast<double>(counts.gpu_capacity_milli) / 1000);
    gpu_free_->Set(static_cast<double>(counts.gpu_free_milli) / 1000);
  }

  static void Raise(Counter& counter, int64_t total) {
    const double more = static_cast<double>(total) - counter.Value();
    if (more > 0) counter.Increment(more);
  }

  void SetServer(const http::ServerStats& server) MUSTER_REQUIRES(mu_) {
    connections_->Set(static_cast<double>(server.connections));
    workers_->Set(static_cast<double>(server.workers));
    for (std::size_t cause = 0; cause < kRefusalCauses.size(); ++cause) {
      // The server counts by itself. Pages may be made of statistics read in another order: one
      // that is behind adds nothing.
      const double more =
          static_cast<double>(server.*kRefusalCauses[cause].count) - refused_[cause]->Value();
      if (more > 0) refused_[cause]->Increment(more);
    }
  }

  std::array<Gauge*, engine::kGangStates> by_state_{};
  Family<Gauge>* waiting_ = nullptr;
  std::map<engine::ReasonCode, Gauge*> by_reason_ MUSTER_GUARDED_BY(mu_);
  Gauge* nodes_ = nullptr;
  Gauge* nodes_left_out_ = nullptr;
  Gauge* gpus_left_out_ = nullptr;
  Counter* starts_refused_ = nullptr;  // set as gauges are
  Counter* starts_failed_ = nullptr;
  std::array<Counter*, topology::kPickOutcomes> picks_{};
  Gauge* scale_ups_ = nullptr;
  std::array<Gauge*, cluster::kRequestStates> requests_{};
  Gauge* restart_kept_ = nullptr;
  std::array<Counter*, engine::kWindowEnds> windows_{};
  Gauge* pods_ = nullptr;
  Gauge* reservations_ = nullptr;
  Gauge* held_ = nullptr;
  Gauge* gpu_capacity_ = nullptr;
  Gauge* gpu_free_ = nullptr;
  Gauge* connections_ = nullptr;
  Gauge* workers_ = nullptr;
  std::array<Counter*, kRefusalCauses.size()> refused_{};  // set as gauges are

 public:
  // Constant after construction; the library's own metrics may be fed from any thread.
  std::array<Histogram*, kExtenderVerbs> latency{};
  std::array<std::array<Counter*, kVerbResults>, kExtenderVerbs> calls{};
  std::array<Counter*, kActionKinds> sent{};
  std::array<std::array<Counter*, 5>, kActionKinds> ended{};
  Histogram* wait = nullptr;
  Histogram* late = nullptr;
  Histogram* plan = nullptr;
  Counter* planned = nullptr;
  Counter* not_planned = nullptr;
  Counter* reloads_ok = nullptr;
  Counter* reloads_failed = nullptr;
  std::array<std::array<Counter*, 2>, kOrderNames.size()> orders{};  // carried out, refused
  Gauge* fabric_findings = nullptr;
};

Metrics::Metrics(const std::string& version) : impl_(std::make_unique<Impl>(version)) {}
Metrics::~Metrics() = default;

void Metrics::Called(ExtenderVerb verb, VerbResult result, std::chrono::nanoseconds took) {
  const auto index = static_cast<std::size_t>(verb);
  impl_->latency[index]->Observe(Seconds(took));
  impl_->calls[index][static_cast<std::size_t>(result)]->Increment();
}

void Metrics::GangStarted(const engine::GangStarted& started) {
  impl_->wait->Observe(static_cast<double>(started.waited.value()) / 1000);
  if (started.late) impl_->late->Observe(static_cast<double>(started.late->value()) / 1000);
}

void Metrics::Planned(int64_t tried, int64_t planned, std::chrono::nanoseconds took) {
  if (tried == 0) return;
  impl_->plan->Observe(Seconds(took));
  impl_->planned->Increment(static_cast<double>(planned));
  impl_->not_planned->Increment(static_cast<double>(tried - planned));
}

void Metrics::ActionSent(std::size_t kind) {
  if (kind < impl_->sent.size()) impl_->sent[kind]->Increment();
}

void Metrics::ActionEnded(std::size_t kind, engine::OutcomeKind outcome) {
  const auto index = static_cast<std::size_t>(outcome);
  if (kind < impl_->ended.size() && index < kOutcomeNames.size()) {
    impl_->ended[kind][index]->Increment();
  }
}

void Metrics::PolicyReloaded(bool ok) {
  (ok ? impl_->reloads_ok : impl_->reloads_failed)->Increment();
}

void Metrics::Ordered(const engine::Order& order, bool ok) {
  impl_->orders[order.what.index()][ok ? 0 : 1]->Increment();
}

void Metrics::FabricFindings(std::int64_t count) {
  impl_->fabric_findings->Set(static_cast<double>(count));
}

std::string Metrics::Text(const engine::Counts& counts,
                          const http::ServerStats& extender_server) const {
  return impl_->Text(counts, extender_server);
}

}  // namespace muster::extender
