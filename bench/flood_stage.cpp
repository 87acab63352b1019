#include "bench/flood_stage.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/base/check.hpp"
#include "engine/scheduler.hpp"
#include "extender/embedded/caller_wire.hpp"
#include "extender/engine_loop.hpp"
#include "extender/pages/api.hpp"
#include "extender/server_options.hpp"
#include "extender/verbs/handlers.hpp"
#include "extender/verbs/http_verbs.hpp"
#include "http/server/server.hpp"
#include "http/tls/serving_certificate.hpp"
#include "kube/admission/access_review.hpp"
#include "kube/api/step_thread.hpp"
#include "sim/world/cluster.hpp"

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNodes = 500;
constexpr int kGpusOfNode = 8;
constexpr int kOwnGangs = 8;
constexpr int kMembers = 4;

// An API server that knows one token and lets it do everything.
class Reviews final : public kube::ApiCaller {
 public:
  cluster::Result<kube::ApiReply> Call(const kube::ApiRequest& request) override {
    kube::ApiReply reply{.status = 201};
    const std::string known = std::string(R"("token":")") + kKnownToken + '"';
    if (request.path.find("tokenreviews") == std::string::npos) {
      reply.body = R"({"status": {"allowed": true}})";
    } else if (request.body.find(known) != std::string::npos) {
      reply.body = R"({"status": {"authenticated": true, "audiences": ["muster.dev"],
                       "user": {"username": "ann"}}})";
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      reply.body = R"({"status": {"authenticated": false}})";
    }
    return reply;
  }
  std::unique_ptr<kube::ApiStream> OpenStream() override { return nullptr; }
};

// Nothing that is asked for is ever done: no gang of the stage starts.
class Nobody final : public engine::ActionPort {
 public:
  void Perform(const std::vector<engine::Action>& /*actions*/) override {}
};

cluster::Pod MakePod(const std::string& ns, const std::string& gang, const std::string& name) {
  auto spec = std::make_shared<cluster::PodSpec>();
  spec->requests = {cluster::MilliCpu(1'000), cluster::MiB(1'024), 1};
  spec->gpus.count = kGpusOfNode;
  spec->scheduler_name = "muster";
  cluster::Pod pod;
  pod.uid = cluster::PodUid("uid-" + ns + "-" + name);
  pod.key = {ns, name};
  pod.spec = std::move(spec);
  pod.pod_group = gang;
  return pod;
}

std::string NodeName(int number) { return "node-" + std::to_string(number); }

http::TlsOptions ServingTls() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  auto made = http::MakeServingCertificate({.hosts = {"127.0.0.1"},
                                            .authority = "bench",
                                            .not_before = now - std::chrono::hours(1),
                                            .not_after = now + std::chrono::hours(24)});
  MUSTER_CHECK(made.ok());
  http::TlsOptions tls;
  tls.held = std::make_shared<const http::HeldCertificate>(std::move(made->pair));
  return tls;
}

http::ServerOptions OptionsOf(cluster::Result<http::ServerOptions> options, bool tls) {
  MUSTER_CHECK(options.ok());
  if (tls) options->tls = ServingTls();
  return *std::move(options);
}

config::ExtenderSettings AnyPort() {
  config::ExtenderSettings settings;
  settings.address = "127.0.0.1:0";
  return settings;
}

}  // namespace

struct FloodStage::Parts {
  Parts()
      : handlers({.scheduler = [this]() -> engine::Scheduler& { return scheduler; },
                  .now = [this] { return Now(); },
                  .told = [this] { loop.Poke(); },
                  .metrics = &metrics},
                 {}),
        loop({.scheduler = scheduler,
              .port = *port,
              .answer = [this](const engine::AnswerBind& a) { handlers.Deliver(a); },
              .now = [this] { return Now(); },
              .metrics = metrics,
              .log = log}),
        access({.settings = [] { return config::OperatorSettings(); },
                .public_pages = [] { return std::vector<std::string>{"gangs"}; },
                .reviewer = &reviewer}),
        api_handlers(
            {.scheduler = scheduler,
             .now = [this] { return Now(); },
             .not_ready = [] { return std::string(); },
             .metrics = [this] { return metrics.Text(scheduler.Count(), extender.stats()); },
             .policy = [] { return std::string(); },
             .grouping = [] { return kube::GroupingSettings(); },
             .access = access}),
        extender(OptionsOf(extender::ExtenderServerOptions(AnyPort()), false)),
        tls(OptionsOf(extender::ExtenderServerOptions(AnyPort()), true)),
        api(OptionsOf(extender::ApiServerOptions({.address = "127.0.0.1:0"}), false)) {}

  cluster::Time Now() const {
    const auto passed = Clock::now() - begin;
    return cluster::Time(1'800'000'000'000 +
                         std::chrono::duration_cast<std::chrono::milliseconds>(passed).count());
  }

  void Wait(const std::string& ns, const std::string& gang) {
    cluster::PodGroup group;
    group.uid = cluster::PodGroupUid("group-" + ns + "-" + gang);
    group.key = {ns, gang};
    group.min_member = kMembers;
    std::vector<engine::Fact> facts = {group};
    for (int i = 0; i < kMembers; ++i)
      facts.emplace_back(MakePod(ns, gang, gang + "-" + std::to_string(i)));
    scheduler.Apply(facts, Now());
  }

  const Clock::time_point begin = Clock::now();
  const extender::Logger log{{.level = extender::LogLevel::kError}};
  extender::Metrics metrics{"bench"};
  engine::Scheduler scheduler{engine::Options{}};
  const std::unique_ptr<engine::ActionPort> port = std::make_unique<Nobody>();
  extender::ExtenderHandlers handlers;
  extender::EngineLoop loop;
  const std::unique_ptr<kube::ApiCaller> reviews = std::make_unique<Reviews>();
  kube::AccessReviewer reviewer{{.api = *reviews, .now = [] { return kube::ReadClocks(); }}, {}};
  extender::CallerAccess access;
  extender::ApiHandlers api_handlers;
  http::Server extender;
  http::Server tls;
  http::Server api;
};

FloodStage::FloodStage(int gangs) : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  for (int i = 0; i < kNodes; ++i) {
    cluster::Node node = sim::GpuNode(kGpusOfNode);
    node.name = NodeName(i);
    node.uid = cluster::NodeUid("uid-" + node.name);
    cluster::Pod holds = MakePod("held", "", "holds-" + std::to_string(i));
    holds.node_name = node.name;
    for (std::uint16_t gpu = 0; gpu < kGpusOfNode; ++gpu)
      holds.bound_gpus.push_back(cluster::GpuIndex{gpu});
    holds.bound_by_muster = true;
    holds.phase = cluster::PodPhase::kRunning;
    parts.scheduler.Apply(std::move(node), parts.Now());
    parts.scheduler.Apply(std::move(holds), parts.Now());
  }
  for (int i = 0; i < gangs; ++i) parts.Wait("team", "g-" + std::to_string(i));
  for (int i = 0; i < kOwnGangs; ++i) parts.Wait("own", "g-" + std::to_string(i));
  extender::MountExtenderVerbs(parts.extender, parts.handlers);
  extender::MountExtenderVerbs(parts.tls, parts.handlers);
  parts.api_handlers.Mount(parts.api);
  parts.handlers.SetAvailability(extender::Availability::kReady);
  for (http::Server* server : {&parts.extender, &parts.tls, &parts.api})
    MUSTER_CHECK(server->Start().ok());
  parts.loop.Start();
}

FloodStage::~FloodStage() {
  parts_->handlers.RefuseOpenBinds("the bench is over");
  for (http::Server* server : {&parts_->extender, &parts_->tls, &parts_->api}) server->Stop();
  parts_->loop.Stop();
}

void FloodStage::AwaitQuiet() const {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
  constexpr std::chrono::milliseconds kRest{200};
  for (int quiet = 0; quiet < 5 && Clock::now() < end;) {
    std::this_thread::sleep_for(kRest);
    quiet = parts_->scheduler.NextWake() > parts_->Now() ? quiet + 1 : 0;
  }
}

bool FloodStage::idle() const {
  for (const http::Server* server : {&parts_->extender, &parts_->tls, &parts_->api}) {
    if (server->stats().connections > 0) return false;
  }
  return true;
}

std::uint16_t FloodStage::extender_port() const { return parts_->extender.port(); }
std::uint16_t FloodStage::tls_port() const { return parts_->tls.port(); }
std::uint16_t FloodStage::api_port() const { return parts_->api.port(); }

std::string FloodStage::FilterBody() const {
  engine::NodesQuestion question;
  question.pod = MakePod("team", "g-0", "g-0-0");
  for (int i = 0; i < kNodes; ++i) question.nodes.push_back(NodeName(i));
  return extender::EncodeArgs(question);
}

}  // namespace muster::bench
