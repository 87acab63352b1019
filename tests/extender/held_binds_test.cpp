// Many more held Bind calls than threads, over HTTP/1.1 and HTTP/2, on a real engine.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "extender/embedded/caller_wire.hpp"
#include "extender/verbs/handlers.hpp"
#include "extender/verbs/http_verbs.hpp"
#include "http/server/server.hpp"
#include "tests/http/http2_test_support.hpp"
#include "tests/http/http_test_support.hpp"
#include "tests/http/tls_test_support.hpp"
#include "tests/support/builders.hpp"

namespace muster::extender::testing {
namespace {

using http::testing::Eventually;
using http::testing::Http2Caller;
using http::testing::PostRequest;
using http::testing::RawCaller;
using muster::testing::MakeNode;
using muster::testing::MakePod;
using muster::testing::MakePodGroup;

constexpr std::size_t kThreads = 2;
constexpr std::size_t kHeld = 100;  // of each protocol
constexpr cluster::Time kNow{1000};
const std::vector<std::pair<std::string, std::string>> kJson = {  // NOLINT(cert-err58-cpp)
    {"content-type", "application/json"}};

// Two nodes, a gang of two pods of one node each, and two ports: without and with TLS.
class World {
 public:
  World()
      : handlers({.scheduler = [this]() -> engine::Scheduler& { return scheduler; },
                  .now = [] { return kNow; },
                  .told = {},
                  .metrics = nullptr},
                 {.most_open_binds = 10 * kHeld}),
        plain(FewThreads({})),
        tls(FewThreads(certificates.Plain())) {
    handlers.SetAvailability(Availability::kReady);
    for (const char* name : {"n0", "n1"}) scheduler.Apply(MakeNode(name).Gpus(8).Build(), kNow);
    scheduler.Apply(MakePodGroup("train").MinMember(2).Build(), kNow);
    for (const char* name : {"p0", "p1"}) scheduler.Apply(Pod(name), kNow);
    Settle();
    for (http::Server* server : {&plain, &tls}) {
      MountExtenderVerbs(*server, handlers);
      REQUIRE(server->Start().ok());
    }
  }

  static cluster::Pod Pod(const std::string& name) {
    return MakePod(name).Gpus(8).InGroup("train");
  }
  static std::string Question(const std::string& pod) {
    return EncodeArgs({Pod(pod), {"n0", "n1"}});
  }
  std::string BindBody(const std::string& pod) {
    const auto reply = DecodeFilterReply(handlers.Filter(Question(pod)).body, NodesForm::kNames);
    return EncodeBindRequest({Pod(pod).key, Pod(pod).uid, reply->passed.front()});
  }
  // Carries every action out, until there are none.
  void Settle() {
    while (true) {
      const engine::Progress progress = scheduler.Advance(kNow);
      if (progress.actions.empty()) return;
      for (const engine::Action& action : progress.actions) CarryOut(action);
    }
  }
  const http::testing::TlsWorld certificates;
  engine::Scheduler scheduler{engine::Options{}};
  ExtenderHandlers handlers;
  http::Server plain;
  http::Server tls;

 private:
  static http::ServerOptions FewThreads(http::ServerOptions options) {
    options.max_streams = 1'024;  // as on kube-scheduler's port
    options.workers = kThreads;
    return options;
  }
  void CarryOut(const engine::Action& action) {
    if (const auto* answer = std::get_if<engine::AnswerBind>(&action)) {
      handlers.Deliver(*answer);
    } else if (const auto* nominate = std::get_if<engine::Nominate>(&action)) {
      scheduler.Report({.id = nominate->id, .message = {}}, kNow);
    } else if (const auto* wake = std::get_if<engine::WakePod>(&action)) {
      scheduler.Report({.id = wake->id, .message = {}}, kNow);
    } else if (const auto* bind = std::get_if<engine::BindPod>(&action)) {
      scheduler.Report({.id = bind->id, .message = {}}, kNow);
      scheduler.Apply(
          MakePod(bind->pod.key.name).Gpus(8).InGroup("train").BoundTo(bind->node).Build(), kNow);
    }
  }
};

// kHeld callers of each protocol bind the same member: asked again, a call is held as well.
class Callers {
 public:
  explicit Callers(World& world)
      : world_(world), http2_(world.certificates.Caller(world.tls.port())) {
    const std::string body = world.BindBody("p0");
    for (std::size_t i = 0; i < kHeld; ++i) {
      http1_.push_back(std::make_unique<RawCaller>(world.plain.port()));
      REQUIRE(http1_.back()->Send(PostRequest(kBindPath, body)));
      streams_.push_back(
          http2_.Begin({.method = "POST", .path = kBindPath, .body = body, .headers = kJson}));
    }
    REQUIRE(Eventually([&] { return world_.handlers.tickets().open() == 2 * kHeld; }));
  }

  void FilterAnswers() {
    const std::string question = World::Question("p1");
    RawCaller other(world_.plain.port());
    CHECK(other.Call(PostRequest(kFilterPath, question)).status == 200);
    CHECK(http2_.Do({.method = "POST", .path = kFilterPath, .body = question, .headers = kJson})
              .status == 200);
  }
  void AllAreTold(const std::string& error) {
    for (const auto& caller : http1_) CHECK(BindErrorIn(caller->ReadReply().body) == error);
    for (const Http2Caller::Stream stream : streams_) {
      CHECK(BindErrorIn(http2_.Wait(stream).body) == error);
    }
  }

 private:
  World& world_;
  std::vector<std::unique_ptr<RawCaller>> http1_;
  Http2Caller http2_;
  std::vector<Http2Caller::Stream> streams_;
};

}  // namespace

TEST_CASE("held Bind calls take no thread, and all are answered when the gang is whole",
          "[held_binds]") {
  World world;
  Callers callers(world);
  callers.FilterAnswers();
  CHECK(world.plain.stats().workers == kThreads);
  CHECK(world.plain.stats().open_calls == kHeld);
  CHECK(world.tls.stats().workers == kThreads);
  CHECK(world.tls.stats().open_calls == kHeld);
  RawCaller last(world.plain.port());
  REQUIRE(last.Send(PostRequest(kBindPath, world.BindBody("p1"))));
  REQUIRE(Eventually([&] { return world.handlers.tickets().open() == 2 * kHeld + 1; }));
  world.Settle();
  callers.AllAreTold("");
  CHECK(BindErrorIn(last.ReadReply().body).empty());
  CHECK(world.plain.stats().open_calls == 0);
  CHECK(world.tls.stats().open_calls == 0);
}

TEST_CASE("held Bind calls that are refused are all answered before a server that drains closes",
          "[held_binds]") {
  World world;
  Callers callers(world);
  const std::chrono::milliseconds moment(50);
  const std::chrono::milliseconds long_time(30'000);
  CHECK_FALSE(world.plain.Drain(moment));
  CHECK_FALSE(world.tls.Drain(moment));
  CHECK(world.handlers.tickets().open() == 2 * kHeld);
  world.handlers.RefuseOpenBinds("muster is shutting down");
  callers.AllAreTold("muster is shutting down");
  CHECK(world.plain.Drain(long_time));
  world.tls.Stop();
  world.plain.Stop();
  CHECK(world.tls.stats().connections == 0);
}

TEST_CASE("stopping with Bind calls held closes them, and late answers are for nobody",
          "[held_binds]") {
  World world;
  Callers callers(world);
  world.plain.Stop();
  world.tls.Stop();
  world.handlers.RefuseOpenBinds("late");
  CHECK(world.plain.stats().connections == 0);
  CHECK(world.tls.stats().connections == 0);
}

TEST_CASE("verbs take no body that a form of a page could have sent", "[held_binds]") {
  World world;
  for (const char* path : {kFilterPath, kPrioritizePath, kPreemptPath, kBindPath}) {
    CAPTURE(path);
    std::string request = PostRequest(path, world.BindBody("p1"));
    const std::string type = "application/json";
    request.replace(request.find(type), type.size(), "text/plain");
    RawCaller caller(world.plain.port());
    CHECK(caller.Call(request).status == 415);
  }
  CHECK(world.handlers.tickets().open() == 0);
}

}  // namespace muster::extender::testing
