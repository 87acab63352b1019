// What does an extender call cost beside an echo of the same bytes, and do 1,024 held Bind calls
// delay a Filter? One server, one kept-alive loopback connection, the real engine behind it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/base/check.hpp"
#include "engine/scheduler.hpp"
#include "extender/embedded/caller_wire.hpp"
#include "extender/engine_loop.hpp"
#include "extender/verbs/handlers.hpp"
#include "extender/verbs/http_verbs.hpp"
#include "extender/wire/wire.hpp"
#include "http/client/client.hpp"
#include "http/server/allocator.hpp"
#include "http/server/server.hpp"
#include "kube/encode/encode.hpp"
#include "sim/world/cluster.hpp"

namespace muster::bench {
namespace {

using extender::Availability;
using extender::EngineLoop;
using extender::ExtenderHandlers;
using Clock = std::chrono::steady_clock;

constexpr double kGoalMedian = 1.3;  // of Filter over the echo, at 5,000 names
constexpr double kGoalTail = 3;
constexpr int kHeld = 1024;
constexpr const char* kEchoPath = "/echo";

// Microseconds of every call.
using Times = std::vector<double>;

double Percentile(Times times, double percent) {
  std::sort(times.begin(), times.end());
  return times[static_cast<std::size_t>(static_cast<double>(times.size() - 1) * percent / 100)];
}

std::string NodeName(int number) {
  char name[32];
  std::snprintf(name, sizeof name, "gpu-node-%05d", number);
  return name;
}

cluster::Pod MakePod(const std::string& name, const std::string& group, int gpus) {
  cluster::PodSpec spec;
  spec.requests = {cluster::MilliCpu(1000), cluster::MiB(1024), 1};
  spec.gpus.count = gpus;
  spec.scheduler_name = "muster";
  cluster::Pod pod;
  pod.uid = cluster::PodUid("uid-" + name);
  pod.key = {"bench", name};
  pod.spec = std::make_shared<const cluster::PodSpec>(spec);
  pod.pod_group = group;
  return pod;
}

// An API server that does at once whatever it is asked.
class Obliging final : public engine::ActionPort {
 public:
  void Perform(const std::vector<engine::Action>& actions) override {
    for (const engine::Action& action : actions) {
      if (const auto* one = std::get_if<engine::Nominate>(&action)) {
        loop->Report({one->id, engine::OutcomeKind::kDone, ""});
      } else if (const auto* wake = std::get_if<engine::WakePod>(&action)) {
        loop->Report({wake->id, engine::OutcomeKind::kDone, ""});
      } else if (const auto* bind = std::get_if<engine::BindPod>(&action)) {
        loop->Report({bind->id, engine::OutcomeKind::kDone, ""});
      }
    }
  }
  EngineLoop* loop = nullptr;
};

// Server, handlers and engine, with `nodes` nodes of 8 GPUs.
class Stage {
 public:
  explicit Stage(int nodes)
      : handlers_({.scheduler = [this]() -> engine::Scheduler& { return scheduler_; },
                   .now = [this] { return Now(); },
                   .told = [this] { loop_.Poke(); },
                   .metrics = &metrics_},
                  {}),
        loop_({.scheduler = scheduler_,
               .port = port_,
               .answer = [this](const engine::AnswerBind& a) { handlers_.Deliver(a); },
               .now = [this] { return Now(); },
               .metrics = metrics_,
               .log = log_}),
        server_(Limits()) {
    port_.loop = &loop_;
    for (int i = 0; i < nodes; ++i) {
      cluster::Node node = sim::GpuNode(8);
      node.name = NodeName(i);
      node.uid = cluster::NodeUid("uid-" + node.name);
      scheduler_.Apply(node, Now());
    }
    MountExtenderVerbs(server_, handlers_);
    server_.Handle("POST", kEchoPath, [](const http::Request& request) {
      http::Response response;
      response.body = request.body;
      return response;
    });
    handlers_.SetAvailability(Availability::kReady);
    MUSTER_CHECK(server_.Start().ok());
    loop_.Start();
  }
  ~Stage() {
    handlers_.RefuseOpenBinds("the bench is over");
    server_.Stop();
    loop_.Stop();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void Add(const engine::Fact& fact) { loop_.Apply(fact); }
  void AwaitReservations(int64_t pods) const {
    while (scheduler_.Count().reservations < pods) std::this_thread::yield();
  }
  http::ClientOptions client() const {
    http::ClientOptions options;
    options.port = server_.port();
    options.timeout = std::chrono::milliseconds(120'000);
    return options;
  }
  const engine::Scheduler& scheduler() const { return scheduler_; }

 private:
  static http::ServerOptions Limits() {
    http::ServerOptions options;
    options.max_body_bytes = std::size_t{64} << 20U;
    return options;
  }
  cluster::Time Now() const {
    return cluster::Time(
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin_).count());
  }

  const Clock::time_point begin_ = Clock::now();
  const extender::Logger log_{{.level = extender::LogLevel::kError}};
  extender::Metrics metrics_{"bench"};
  engine::Scheduler scheduler_{engine::Options{}};
  Obliging port_;
  ExtenderHandlers handlers_;
  EngineLoop loop_;
  http::Server server_;
};

// One call; stops the program when it is not answered with 200.
double Call(http::Client& client, const char* path, const std::string& body) {
  const Clock::time_point begin = Clock::now();
  const cluster::Result<http::Reply> reply = client.Post(path, body);
  const auto took = Clock::now() - begin;
  MUSTER_CHECK(reply.ok() && reply->status == 200 && !reply->body.empty());
  return std::chrono::duration<double, std::micro>(took).count();
}

struct Row {
  Times echo;
  Times filter;
  Times prioritize;
};

// The three take turns, so that what disturbs one disturbs all.
Row Compare(const Stage& stage, const std::string& body, int calls) {
  http::Client client(stage.client());
  Row row;
  for (int i = 0; i < calls + calls / 10; ++i) {
    const double echo = Call(client, kEchoPath, body);
    const double filter = Call(client, extender::kFilterPath, body);
    const double prioritize = Call(client, extender::kPrioritizePath, body);
    if (i < calls / 10) continue;  // warming up
    row.echo.push_back(echo);
    row.filter.push_back(filter);
    row.prioritize.push_back(prioritize);
  }
  return row;
}

void PrintRow(const std::string& what, std::size_t bytes, const Row& row) {
  const double echo50 = Percentile(row.echo, 50);
  const double echo99 = Percentile(row.echo, 99);
  std::printf("%-16s %8.1f  %7.0f %7.0f", what.c_str(), static_cast<double>(bytes) / 1024, echo50,
              echo99);
  for (const Times* times : {&row.filter, &row.prioritize}) {
    const double p50 = Percentile(*times, 50);
    const double p99 = Percentile(*times, 99);
    std::printf("  %7.0f %7.0f %6.2f %6.2f", p50, p99, p50 / echo50, p99 / echo99);
  }
  std::printf("\n");
}

void PrintGoal(const char* what, double ratio, double goal) {
  if (ratio <= goal) {
    std::printf("goal met: %s %.2f times, at most %.1f\n", what, ratio, goal);
  } else {
    std::printf("goal missed: %s %.2f times, should be at most %.1f: %.0f %% above\n", what, ratio,
                goal, (ratio / goal - 1) * 100);
  }
}

engine::NodesQuestion Question(int nodes) {
  engine::NodesQuestion question;
  question.pod = MakePod("solo", "", 8);
  for (int i = 0; i < nodes; ++i) question.nodes.push_back(NodeName(i));
  return question;
}

void CompareWithEcho(bool smoke) {
  std::printf(
      "Times in microseconds, ratios to the echo.\n%-16s %8s  %15s  %30s  %30s\n%-16s %8s  "
      "%7s %7s  %7s %7s %6s %6s  %7s %7s %6s %6s\n",
      "", "body", "echo", "filter", "prioritize", "nodes", "KiB", "p50", "p99", "p50", "p99", "p50",
      "p99", "p50", "p99", "p50", "p99");
  for (const int nodes : {100, 1'000, 5'000, 10'000}) {
    Stage stage(nodes);
    stage.Add(MakePod("solo", "", 8));
    stage.AwaitReservations(1);
    const std::string body = extender::EncodeArgs(Question(nodes));
    const Row row = Compare(stage, body, smoke ? 50 : 2'000);
    PrintRow(std::to_string(nodes) + " names", body.size(), row);
    if (nodes != 5'000) continue;
    PrintGoal("filter p50", Percentile(row.filter, 50) / Percentile(row.echo, 50), kGoalMedian);
    PrintGoal("filter p99", Percentile(row.filter, 99) / Percentile(row.echo, 99), kGoalTail);
  }
  constexpr int kObjects = 1'000;
  constexpr std::size_t kImageList = 8'000;  // what a real Node object mostly consists of
  Stage stage(kObjects);
  stage.Add(MakePod("solo", "", 8));
  stage.AwaitReservations(1);
  std::vector<std::string> texts;
  for (int i = 0; i < kObjects; ++i) {
    cluster::Node node = sim::GpuNode(8);
    node.name = NodeName(i);
    node.uid = cluster::NodeUid("uid-" + node.name);
    node.labels["bench/images"] = std::string(kImageList, 'x');
    texts.push_back(kube::EncodeNode(node));
  }
  const std::string body = extender::EncodeArgs(
      Question(kObjects), std::vector<std::string_view>(texts.begin(), texts.end()));
  PrintRow("1000 objects", body.size(), Compare(stage, body, smoke ? 10 : 200));
}

// Filter calls for a pod that fits nowhere.
Times Probe(const Stage& stage, int calls) {
  http::Client client(stage.client());
  engine::NodesQuestion question;
  question.pod = MakePod("probe", "", 64);
  question.nodes = {NodeName(0)};
  const std::string body = extender::EncodeArgs(question);
  Times times;
  for (int i = 0; i < calls + calls / 10; ++i) {
    const double took = Call(client, extender::kFilterPath, body);
    if (i >= calls / 10) times.push_back(took);
  }
  return times;
}

void HoldBinds(bool smoke) {
  const int calls = smoke ? 200 : 5'000;
  Stage stage((kHeld + 8) / 8);
  cluster::PodGroup group;
  group.uid = cluster::PodGroupUid("group");
  group.key = {"bench", "gang"};
  group.min_member = kHeld + 1;
  stage.Add(group);
  for (int i = 0; i <= kHeld; ++i) stage.Add(MakePod("gang-" + std::to_string(i), "gang", 1));
  stage.AwaitReservations(kHeld + 1);
  const Times idle = Probe(stage, calls);

  const engine::GangView gang = *stage.scheduler().FindGang(group.key);
  std::vector<std::thread> callers;
  std::vector<std::string> errors(gang.members.size(), "not answered");
  const auto bind = [&](std::size_t i) {
    const engine::MemberView& member = gang.members[i];
    const auto reply =
        http::Client(stage.client())
            .Post(extender::kBindPath,
                  extender::EncodeBindRequest({member.pod, member.uid, member.planned_node}));
    errors[i] = reply.ok() ? extender::BindErrorIn(reply->body) : reply.error().ToString();
  };
  for (std::size_t i = 0; i < kHeld; ++i) callers.emplace_back(bind, i);
  while (stage.scheduler().Count().held_binds < kHeld) std::this_thread::yield();
  const Times busy = Probe(stage, calls);
  const Clock::time_point begin = Clock::now();
  bind(kHeld);
  for (std::thread& caller : callers) caller.join();
  const double release = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  for (const std::string& error : errors) MUSTER_CHECK(error.empty());

  std::printf("\nFilter beside held Bind calls, microseconds\n%-16s %7s %7s\n", "held", "p50",
              "p99");
  std::printf("%-16d %7.0f %7.0f\n%-16d %7.0f %7.0f\n", 0, Percentile(idle, 50),
              Percentile(idle, 99), kHeld, Percentile(busy, 50), Percentile(busy, 99));
  std::printf("the last Bind call freed all %d in %.0f ms\n", kHeld + 1, release);
  PrintGoal("filter p99 beside held calls", Percentile(busy, 99) / Percentile(idle, 99), 3);
}

}  // namespace
}  // namespace muster::bench

// NOLINTNEXTLINE(bugprone-exception-escape): a bench that cannot go on ends there
int main(int argc, char** argv) {
  muster::http::GiveFreedMemoryBack();  // as muster serve does
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  muster::bench::CompareWithEcho(smoke);
  muster::bench::HoldBinds(smoke);
  return 0;
}
