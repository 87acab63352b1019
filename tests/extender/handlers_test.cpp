// The verbs in bytes, on a real engine whose clock and API server the test plays.
#include "extender/verbs/handlers.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "extender/embedded/caller_wire.hpp"
#include "extender/telemetry/metrics.hpp"
#include "extender/verbs/http_verbs.hpp"
#include "extender/wire/wire.hpp"
#include "http/client/client.hpp"
#include "http/server/server.hpp"
#include "kube/encode/encode.hpp"
#include "tests/support/builders.hpp"

namespace muster::extender::testing {
namespace {

using cluster::Time;
using muster::testing::MakeNode;
using muster::testing::MakePod;
using muster::testing::MakePodGroup;

// Four nodes of 8 GPUs and a gang of two ungated pods of 8 GPUs each.
class World {
 public:
  explicit World(std::size_t most_open_binds = 100)
      : handlers({.scheduler = [this]() -> engine::Scheduler& { return scheduler; },
                  .now = [this] { return now; },
                  .told = [this] { ++told; },
                  .group = [this](cluster::Pod& pod) { return group(pod); },
                  .metrics = &metrics},
                 {.most_open_binds = most_open_binds}) {
    handlers.SetAvailability(Availability::kReady);
    for (const std::string& name : nodes) scheduler.Apply(MakeNode(name).Gpus(8).Build(), now);
    scheduler.Apply(MakePodGroup("train").MinMember(2).Build(), now);
    for (const std::string& name : pods) scheduler.Apply(Pod(name), now);
    Settle();
  }

  static cluster::Pod Pod(const std::string& name) {
    return MakePod(name).Gpus(8).InGroup("train");
  }
  std::string Question(const std::string& pod) const { return EncodeArgs({Pod(pod), nodes}); }
  std::string BindBody(const std::string& pod) {
    const auto reply = DecodeFilterReply(handlers.Filter(Question(pod)).body, NodesForm::kNames);
    return EncodeBindRequest({Pod(pod).key, Pod(pod).uid, reply->passed.front()});
  }
  // Calls Bind; the reply lands in replies[index].
  std::size_t Bind(const std::string& body) {
    const std::size_t index = replies.size();
    replies.emplace_back();
    handlers.Bind(body, [this, index](HandlerReply reply) {
      CHECK_FALSE(replies[index].has_value());
      replies[index] = std::move(reply);
    });
    return index;
  }
  // Carries every action out, until there are none; returns how many Bindings there were.
  int Settle() {
    int bindings = 0;
    while (true) {
      const engine::Progress progress = scheduler.Advance(now);
      if (progress.actions.empty()) return bindings;
      for (const engine::Action& action : progress.actions) {
        if (const auto* answer = std::get_if<engine::AnswerBind>(&action)) {
          handlers.Deliver(*answer);
        } else if (const auto* nominate = std::get_if<engine::Nominate>(&action)) {
          scheduler.Report({.id = nominate->id, .message = {}}, now);
        } else if (const auto* wake = std::get_if<engine::WakePod>(&action)) {
          scheduler.Report({.id = wake->id, .message = {}}, now);
        } else if (const auto* bind = std::get_if<engine::BindPod>(&action)) {
          ++bindings;
          scheduler.Report({.id = bind->id, .message = {}}, now);
          scheduler.Apply(
              MakePod(bind->pod.key.name).Gpus(8).InGroup("train").BoundTo(bind->node).Build(),
              now);
        }
      }
    }
  }

  const std::vector<std::string> nodes = {"n0", "n1", "n2", "n3"};
  const std::vector<std::string> pods = {"p0", "p1"};
  Time now{1000};
  int told = 0;
  std::function<std::string(cluster::Pod&)> group = [](cluster::Pod&) { return ""; };
  Metrics metrics{"test"};
  engine::Scheduler scheduler{engine::Options{}};
  ExtenderHandlers handlers;
  std::vector<std::optional<HandlerReply>> replies;
};

}  // namespace

TEST_CASE("a Filter call about a pod of a gang that is not known yet tells the engine nothing",
          "[handlers][grouping]") {
  World world;
  world.group = [](cluster::Pod&) { return "pod default/late: Job train is not read yet"; };
  const std::string before = world.scheduler.Dump();
  const std::string question = EncodeArgs({MakePod("late").Gpus(8).Build(), world.nodes});
  const auto refused = DecodeFilterReply(world.handlers.Filter(question).body, NodesForm::kNames);
  REQUIRE(refused.ok());
  CHECK(refused->error.empty());
  CHECK(refused->passed.empty());
  CHECK(refused->refused.contains("muster: pod default/late: Job train is not read yet"));
  CHECK(world.scheduler.Dump() == before);
  // Once it is, the pod comes as a member.
  world.group = [](cluster::Pod& pod) {
    pod.pod_group = "train";
    return "";
  };
  world.handlers.Filter(question);
  REQUIRE(world.scheduler.FindGang({"default", "train"}).has_value());
  CHECK(world.scheduler.FindGang({"default", "train"})->members.size() == 3);
}

TEST_CASE("Filter answers the planned node, the same bytes each time, and changes nothing",
          "[handlers]") {
  World world;
  const std::string first = world.handlers.Filter(world.Question("p0")).body;
  const auto reply = DecodeFilterReply(first, NodesForm::kNames);
  REQUIRE(reply.ok());
  CHECK(reply->error.empty());
  REQUIRE(reply->passed.size() == 1);
  CHECK(reply->refused.empty());
  const std::string before = world.scheduler.Dump();
  for (int i = 0; i < 10; ++i) CHECK(world.handlers.Filter(world.Question("p0")).body == first);
  CHECK(world.scheduler.Dump() == before);

  const auto scores = DecodePrioritizeReply(world.handlers.Prioritize(world.Question("p0")).body);
  REQUIRE(scores.ok());
  REQUIRE(scores->scores.size() == 1);
  CHECK(scores->scores[0].node == reply->passed.front());
  CHECK(scores->scores[0].score == 10);
  CHECK(world.scheduler.Dump() == before);
}

TEST_CASE("nodes that came as objects go back as the very same bytes", "[handlers]") {
  World world;
  std::vector<std::string> texts;
  for (const std::string& name : world.nodes) {
    texts.push_back(kube::EncodeNode(MakeNode(name).Gpus(8)));
  }
  const std::vector<std::string_view> objects(texts.begin(), texts.end());
  const std::string body = EncodeArgs({World::Pod("p0"), world.nodes}, objects);
  const std::string reply = world.handlers.Filter(body).body;
  const auto decoded = DecodeFilterReply(reply, NodesForm::kObjects);
  REQUIRE(decoded.ok());
  REQUIRE(decoded->passed.size() == 1);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool passed = world.nodes[i] == decoded->passed.front();
    CHECK((reply.find(texts[i]) != std::string::npos) == passed);
  }
}

TEST_CASE("Bind calls are held until the gang is whole, then all are bound and answered",
          "[handlers]") {
  World world;
  const std::string body0 = world.BindBody("p0");
  const std::string body1 = world.BindBody("p1");
  const std::size_t first = world.Bind(body0);
  CHECK(world.Settle() == 0);
  CHECK_FALSE(world.replies[first]);
  CHECK(world.handlers.tickets().open() == 1);
  CHECK(world.scheduler.Count().held_binds == 1);

  const std::size_t again = world.Bind(body0);  // kube-scheduler gave up and asks once more
  CHECK(world.Settle() == 0);
  const std::size_t second = world.Bind(body1);
  CHECK(world.Settle() == 2);
  for (const std::size_t call : {first, again, second}) {
    REQUIRE(world.replies[call]);
    CHECK(world.replies[call]->body == R"({"Error":""})");
    CHECK_FALSE(world.replies[call]->close);
  }
  CHECK(world.handlers.tickets().open() == 0);
  // Idempotent by UID: bound already, so the answer is there at once.
  const std::size_t late = world.Bind(body1);
  REQUIRE(world.replies[late]);
  CHECK(world.replies[late]->body == R"({"Error":""})");
}

TEST_CASE("a Bind call that waits too long is refused with a reason", "[handlers]") {
  World world;
  const std::size_t call = world.Bind(world.BindBody("p0"));
  world.now = world.now + cluster::Seconds(3600);
  world.Settle();
  REQUIRE(world.replies[call]);
  CHECK_FALSE(BindErrorIn(world.replies[call]->body).empty());
  CHECK(world.scheduler.Count().held_binds == 0);
}

TEST_CASE("no more Bind calls are held than allowed", "[handlers]") {
  World world(1);
  const std::string body = world.BindBody("p0");
  const std::size_t first = world.Bind(body);
  const std::size_t second = world.Bind(body);
  CHECK_FALSE(world.replies[first]);
  REQUIRE(world.replies[second]);
  CHECK_THAT(BindErrorIn(world.replies[second]->body), Catch::Contains("too many"));
  world.handlers.RefuseOpenBinds("muster is shutting down");
  REQUIRE(world.replies[first]);
  CHECK(BindErrorIn(world.replies[first]->body) == "muster is shutting down");
}

TEST_CASE("what cannot be read gets an error and changes nothing", "[handlers]") {
  const std::string body = GENERATE(
      std::string(), std::string("{"), std::string("null"), std::string("[]"),
      std::string("\"\xff\""), std::string(R"({"Pod":{},"NodeNames":["n0"]})"),
      std::string(R"({"NodeNames":["n0"],"NodeNames":["n1"]})"),
      std::string(
          R"({"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"NodeNames":1e400})"),
      std::string(100'000, '['));
  World world;
  const std::string before = world.scheduler.Dump();
  const auto filter = DecodeFilterReply(world.handlers.Filter(body).body, NodesForm::kNames);
  REQUIRE(filter.ok());
  CHECK_FALSE(filter->error.empty());
  CHECK(filter->passed.empty());
  CHECK(world.handlers.Prioritize(body).body == "[]");
  CHECK(world.handlers.Preempt(body).kind == ReplyKind::kMalformed);
  const std::size_t call = world.Bind(body);
  REQUIRE(world.replies[call]);
  CHECK_FALSE(BindErrorIn(world.replies[call]->body).empty());
  CHECK(world.scheduler.Dump() == before);
}

TEST_CASE("before the cluster is known every verb says so and asks for another connection",
          "[handlers]") {
  World world;
  const std::string bind = world.BindBody("p0");
  const auto [state, want] = GENERATE(table<Availability, std::string>({
      {Availability::kNotSynced, "not synced"},
      {Availability::kNotLeader, "not the leader"},
      {Availability::kStopped, "shutting down"},
  }));
  world.handlers.SetAvailability(state);
  const HandlerReply filter = world.handlers.Filter(world.Question("p0"));
  CHECK(filter.close);
  CHECK(filter.kind == ReplyKind::kProtocol);
  CHECK_THAT(DecodeFilterReply(filter.body, NodesForm::kNames)->error, Catch::Contains(want));
  CHECK(world.handlers.Prioritize(world.Question("p0")).body == "[]");
  const HandlerReply preempt = world.handlers.Preempt(EncodePreemptionArgs(World::Pod("p0"), {}));
  CHECK(preempt.kind == ReplyKind::kUnavailable);
  CHECK_THAT(preempt.body, Catch::Contains(want));
  const std::size_t call = world.Bind(bind);
  REQUIRE(world.replies[call]);
  CHECK(world.replies[call]->close);
  CHECK_THAT(BindErrorIn(world.replies[call]->body), Catch::Contains(want));
  CHECK(world.scheduler.Count().held_binds == 0);
}

TEST_CASE("over HTTP Preempt is 503 until the cluster is known, and 400 for what cannot be read",
          "[handlers][http]") {
  World world;
  http::Server server(http::ServerOptions{});
  MountExtenderVerbs(server, world.handlers);
  REQUIRE(server.Start().ok());
  http::ClientOptions options;
  options.port = server.port();
  http::Client client(options);
  const std::string body = EncodePreemptionArgs(World::Pod("p0"), {});
  const auto status = [&](Availability availability, const std::string& text) {
    world.handlers.SetAvailability(availability);
    const auto reply = client.Post(kPreemptPath, text);
    REQUIRE(reply.ok());
    INFO(reply->body);
    if (reply->status == 503) CHECK_THAT(reply->body, Catch::Contains("try again"));
    return reply->status;
  };
  CHECK(status(Availability::kNotSynced, body) == 503);
  CHECK(status(Availability::kReady, body) == 200);
  CHECK(status(Availability::kReady, "{") == 400);
  CHECK(status(Availability::kStopped, body) == 503);
}

TEST_CASE("while draining calls are answered and connections are given up", "[handlers]") {
  World world;
  world.handlers.SetAvailability(Availability::kDraining);
  const HandlerReply reply = world.handlers.Filter(world.Question("p0"));
  CHECK(reply.close);
  CHECK(DecodeFilterReply(reply.body, NodesForm::kNames)->passed.size() == 1);
}

TEST_CASE("Preempt answers that there is no candidate", "[handlers]") {
  World world;
  const std::string before = world.scheduler.Dump();
  const std::string body = EncodePreemptionArgs(World::Pod("p0"), {{"n0", {{}, 0}}});
  const HandlerReply reply = world.handlers.Preempt(body);
  CHECK(reply.kind == ReplyKind::kProtocol);
  const auto nodes = DecodePreemptionReply(reply.body);
  REQUIRE(nodes.ok());
  CHECK(nodes->empty());
  CHECK(world.scheduler.Dump() == before);
}

TEST_CASE("a pod that Filter brings first is planned", "[handlers]") {
  World world;
  const cluster::Pod stranger = MakePod("solo").Gpus(1).Scheduler("default-scheduler").Build();
  const std::string question = EncodeArgs({stranger, world.nodes});
  const auto first = DecodeFilterReply(world.handlers.Filter(question).body, NodesForm::kNames);
  CHECK(first->passed.empty());
  CHECK(world.told > 0);
  world.Settle();
  const auto second = DecodeFilterReply(world.handlers.Filter(question).body, NodesForm::kNames);
  CHECK(second->passed.size() == 1);
}

TEST_CASE("calls are counted by verb and result", "[handlers]") {
  World world;
  world.handlers.Filter(world.Question("p0"));
  world.handlers.Filter("{");
  world.handlers.Preempt("{");
  const std::string page = world.metrics.Text(world.scheduler.Count(), {});
  for (const char* line : {"muster_extender_requests_total{result=\"ok\",verb=\"filter\"} 1",
                           "muster_extender_requests_total{result=\"error\",verb=\"filter\"} 1",
                           "muster_extender_requests_total{result=\"error\",verb=\"preempt\"} 1",
                           "muster_extender_request_seconds_count{verb=\"filter\"} 2",
                           "muster_gangs{state=\"Reserved\"} 1", "muster_reservations 2"}) {
    CHECK_THAT(page, Catch::Contains(line));
  }
}

TEST_CASE("refusals of the server are a counter that never goes back", "[metrics]") {
  Metrics metrics("test");
  http::ServerStats server;
  const auto page = [&] { return metrics.Text({}, server); };
  CHECK_THAT(page(), Catch::Contains("# TYPE muster_http_refused_total counter\n"));
  CHECK_THAT(page(), Catch::Contains("muster_http_refused_total{cause=\"tls\"} 0\n"));
  server.tls_failures = 3;
  server.refused_bad = 2;
  CHECK_THAT(page(), Catch::Contains("muster_http_refused_total{cause=\"tls\"} 3\n"));
  CHECK_THAT(page(), Catch::Contains("muster_http_refused_total{cause=\"malformed\"} 2\n"));
  server.tls_failures = 2;  // read before the page above was made
  CHECK_THAT(page(), Catch::Contains("muster_http_refused_total{cause=\"tls\"} 3\n"));
  server.tls_failures = 4;
  CHECK_THAT(page(), Catch::Contains("muster_http_refused_total{cause=\"tls\"} 4\n"));
}

TEST_CASE("what the kubelet makes of plans is a counter by outcome", "[metrics]") {
  Metrics metrics("test");
  engine::Counts counts;
  counts.kubelet_picks = {1, 4, 3, 2};
  const std::string page = metrics.Text(counts, {});
  CHECK_THAT(page, Catch::Contains("# TYPE muster_kubelet_picks_total counter\n"));
  for (const char* line : {"{outcome=\"unknown\"} 1\n", "{outcome=\"agree\"} 4\n",
                           "{outcome=\"tied\"} 3\n", "{outcome=\"differ\"} 2\n"}) {
    CHECK_THAT(page, Catch::Contains(std::string("muster_kubelet_picks_total") + line));
  }
  // A new process of the engine's begins at 0; what was counted stays.
  CHECK_THAT(metrics.Text({}, {}), Catch::Contains("{outcome=\"agree\"} 4\n"));
}

}  // namespace muster::extender::testing
