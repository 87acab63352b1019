#include "kube/write/pod_writer.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using engine::OutcomeKind;

constexpr const char* kPath = "/api/v1/namespaces/team/pods/a";
constexpr const char* kBinding = "/api/v1/namespaces/team/pods/a/binding";
constexpr const char* kEviction = "/api/v1/namespaces/team/pods/a/eviction";
constexpr const char* kStatus = "/api/v1/namespaces/team/pods/a/status";

engine::PodRef Ref(const std::string& name = "a") {
  return {{"team", name}, cluster::PodUid("u-" + name)};
}

std::string PodText(int version, const std::string& rest = R"("spec":{})") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"team","uid":"u-a",)"
         R"("resourceVersion":")" +
         std::to_string(version) + "\"}," + rest + "}";
}

// A writer on a fake server, and what it reports.
class Desk {
 public:
  Desk() { writer_.Start(); }
  ~Desk() { writer_.Stop(); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // Performs and waits until all are reported.
  std::vector<engine::Outcome> Do(const std::vector<engine::Action>& actions) {
    writer_.Perform(actions);
    const MutexLock lock(mu_);
    while (outcomes_.size() < actions.size()) reported_.Wait(mu_);
    std::vector<engine::Outcome> outcomes = std::exchange(outcomes_, {});
    std::sort(outcomes.begin(), outcomes.end(),
              [](const auto& x, const auto& y) { return x.id < y.id; });
    return outcomes;
  }
  OutcomeKind DoOne(const engine::Action& action) { return Do({action}).front().kind; }

  FakeApi api;
  PodVersions versions;
  std::atomic<bool> leader{true};

 private:
  cluster::Mutex mu_;
  cluster::CondVar reported_;
  std::vector<engine::Outcome> outcomes_ MUSTER_GUARDED_BY(mu_);
  PodWriter writer_{{.api = api,
                     .versions = versions,
                     .may_write = [this] { return leader.load(); },
                     .report =
                         [this](const engine::Outcome& outcome) {
                           const MutexLock lock(mu_);
                           outcomes_.push_back(outcome);
                           reported_.NotifyAll();
                         },
                     .epoch = [] { return "7 me"; },
                     .gang_status = [](const engine::PatchGang&) {},
                     .event = [](const engine::EmitEvent&) {},
                     .warn = [](const std::string&) {},
                     .clock =
                         [] {
                           return Clocks{{}, cluster::Time(1'800'000'000'999)};
                         }},
                    {.workers = 4,
                     .attempts = 3,
                     .backoff_first = std::chrono::milliseconds(1),
                     .backoff_max = std::chrono::milliseconds(2)},
                    1};
};

const engine::Action kBind = engine::BindPod{{1}, Ref(), "node-7", {}};
using Lines = std::vector<std::string>;

TEST_CASE("a pod's writes are made in order, and what they answer is remembered",
          "[kube][writer]") {
  Desk desk;
  desk.versions.Note(Ref().uid, 3);
  desk.api.On(Method::kPatch, kStatus, Reply(200, PodText(10)));
  desk.api.On(Method::kPatch, kPath,
              Reply(200, R"({"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":)"
                         R"("team","uid":")" +
                             Ref().uid.text() + R"(","resourceVersion":"11"}})"));
  desk.api.On(Method::kPost, kBinding, Reply(201));
  const auto outcomes =
      desk.Do({engine::Nominate{{1}, Ref(), "node-7"}, engine::RemoveGate{{2}, Ref()},
               engine::BindPod{{3}, Ref(), "node-7", {}}});
  for (const engine::Outcome& outcome : outcomes) CHECK(outcome.kind == OutcomeKind::kDone);
  CHECK(desk.api.lines() == Lines{std::string("PATCH ") + kStatus, std::string("PATCH ") + kPath,
                                  std::string("POST ") + kBinding});
  CHECK_THAT(desk.api.requests().back().body, Catch::Contains(R"("resourceVersion":"11")"));
}

TEST_CASE("a Binding for HAMi's plugin has the time that the writer is given", "[kube][writer]") {
  Desk desk;
  desk.api.On(Method::kPost, kBinding, Reply(201));
  engine::BindPod bind{{1}, Ref(), "node-7", {}};
  bind.hami_devices = "GPU-0,NVIDIA,3000,30:;;";
  CHECK(desk.DoOne(bind) == OutcomeKind::kDone);
  CHECK_THAT(desk.api.requests().back().body,
             Catch::Contains(R"("hami.io/vgpu-time":"1800000000")") &&
                 Catch::Contains(R"("hami.io/bind-time":"1800000000")"));
}

TEST_CASE("what a write answers after its pod's end is not remembered", "[kube][writer]") {
  Desk desk;
  desk.api.On(Method::kPatch, kStatus, Reply(200, PodText(10)));
  desk.versions.Note(Ref().uid, 3);
  desk.versions.Forget(Ref().uid);
  CHECK(desk.DoOne(engine::Nominate{{1}, Ref(), "node-7"}) == OutcomeKind::kDone);
  CHECK(desk.versions.Find(Ref().uid) == 0);
}

TEST_CASE("a binding without an answer is looked up before anything else is done",
          "[kube][writer]") {
  Desk desk;
  desk.api.On(Method::kPost, kBinding, NoConnection());
  desk.api.On(Method::kGet, kPath, Reply(200, PodText(12, R"("spec":{"nodeName":"node-7"})")));
  CHECK(desk.DoOne(kBind) == OutcomeKind::kDone);
  CHECK(desk.api.lines() == Lines{std::string("POST ") + kBinding, std::string("GET ") + kPath});
}

TEST_CASE("a binding refused for its version is made again with the new one", "[kube][writer]") {
  Desk desk;
  desk.versions.Note(Ref().uid, 3);
  desk.api.Once(Method::kPost, kBinding, Refusal(409, "the object has been modified"));
  desk.api.On(Method::kPost, kBinding, Reply(201));
  desk.api.On(Method::kGet, kPath, Reply(200, PodText(21)));
  CHECK(desk.DoOne(kBind) == OutcomeKind::kDone);
  CHECK_THAT(desk.api.requests().front().body, Catch::Contains(R"("resourceVersion":"3")"));
  CHECK_THAT(desk.api.requests().back().body, Catch::Contains(R"("resourceVersion":"21")"));
}

TEST_CASE("pods bound elsewhere, recreated or gone are distinguished", "[kube][writer]") {
  Desk desk;
  desk.api.On(Method::kPost, kBinding, Refusal(409, "already assigned"));
  desk.api.Once(Method::kGet, kPath, Reply(200, PodText(12, R"("spec":{"nodeName":"node-8"})")));
  CHECK(desk.DoOne(kBind) == OutcomeKind::kConflict);
  desk.api.Once(Method::kGet, kPath, Refusal(404, "not found"));
  CHECK(desk.DoOne(kBind) == OutcomeKind::kGone);
  desk.api.On(Method::kPost, kBinding, Refusal(404, "not found"));
  CHECK(desk.DoOne(kBind) == OutcomeKind::kGone);
}

TEST_CASE("the engine hears of a write that keeps failing", "[kube][writer]") {
  Desk desk;
  desk.api.On(Method::kPost, kBinding, Refusal(500, "etcd is away"));
  desk.api.On(Method::kGet, kPath, Reply(200, PodText(12)));
  const engine::Outcome outcome = desk.Do({kBind}).front();
  CHECK(outcome.kind == OutcomeKind::kRetry);
  CHECK_THAT(outcome.message, Catch::Contains("etcd is away"));
  CHECK(desk.api.lines().size() == 6);  // three tries, each looked up
}

TEST_CASE("too many requests is waited out, without looking", "[kube][writer]") {
  Desk desk;
  ApiReply busy = Refusal(429, "slowly");
  busy.retry_after = std::chrono::milliseconds(1);
  desk.api.Once(Method::kPost, kBinding, busy);
  desk.api.On(Method::kPost, kBinding, Reply(201));
  CHECK(desk.DoOne(kBind) == OutcomeKind::kDone);
  CHECK(desk.api.lines().size() == 2);
}

TEST_CASE("what a webhook denies is refused, not tried again", "[kube][writer]") {
  Desk desk;
  desk.api.On(Method::kPost, kBinding, Refusal(400, "admission webhook denied the request"));
  desk.api.On(Method::kGet, kPath, Reply(200, PodText(12)));
  CHECK(desk.DoOne(kBind) == OutcomeKind::kRefused);
  CHECK(desk.api.lines().size() == 2);
}

TEST_CASE("403 is tried again, for an authorizer that has just started knows nobody",
          "[kube][writer]") {
  Desk desk;
  SECTION("it comes to know Muster") {
    desk.api.Once(Method::kPost, kBinding, Refusal(403, "cannot create resource pods/binding"));
    desk.api.On(Method::kPost, kBinding, Reply(201));
    CHECK(desk.DoOne(kBind) == OutcomeKind::kDone);
  }
  SECTION("it never does") {
    desk.api.On(Method::kPost, kBinding, Refusal(403, "cannot create resource pods/binding"));
    CHECK(desk.DoOne(kBind) == OutcomeKind::kRefused);
    CHECK(desk.api.lines().size() > 1);
  }
}

TEST_CASE("who does not lead writes nothing", "[kube][writer]") {
  Desk desk;
  desk.leader = false;
  CHECK(desk.DoOne(kBind) == OutcomeKind::kRetry);
  CHECK(desk.DoOne(engine::EvictPod{{1}, Ref(), "partial"}) == OutcomeKind::kRetry);
  CHECK(desk.api.requests().empty());
}

TEST_CASE("a write carries its permit and ends before a lease could be another's",
          "[kube][writer]") {
  Desk desk;
  desk.api.On(Method::kPost, kBinding, [&](const ApiRequest& request) -> FakeApi::Answer {
    desk.leader = false;
    CHECK_FALSE(request.permit());
    CHECK(request.timeout == std::chrono::seconds(4));
    return cluster::Error{cluster::Code::kForbidden, "not permitted", ""};
  });
  CHECK(desk.DoOne(kBind) == OutcomeKind::kRetry);
  CHECK(desk.api.lines() == Lines{std::string("POST ") + kBinding});
}

TEST_CASE("a look at a pod takes no longer than a write, and is not made once leadership is lost",
          "[kube][writer]") {
  Desk desk;
  desk.api.On(Method::kPost, kBinding, NoConnection());
  desk.api.On(Method::kGet, kPath, [&](const ApiRequest& request) {
    CHECK(request.timeout == std::chrono::seconds(4));
    return Reply(200, PodText(12, R"("spec":{"nodeName":"node-7"})"));
  });
  CHECK(desk.DoOne(kBind) == OutcomeKind::kDone);
  desk.api.ForgetRequests();
  desk.api.On(Method::kPost, kBinding, [&](const ApiRequest&) -> FakeApi::Answer {
    desk.leader = false;
    return NoConnection();
  });
  CHECK(desk.DoOne(kBind) == OutcomeKind::kRetry);
  CHECK(desk.api.lines() == Lines{std::string("POST ") + kBinding});
}

bool AllDry(const std::vector<ApiRequest>& requests) {
  return std::all_of(requests.begin(), requests.end(), [](const ApiRequest& request) {
    return request.method == Method::kGet || request.body.find("dryRun") != std::string::npos;
  });
}

TEST_CASE("evictions given together are all tried dry first", "[kube][writer]") {
  Desk desk;
  const std::string other = "/api/v1/namespaces/team/pods/b/eviction";
  desk.api.On(Method::kPost, kEviction, Reply(201));
  const std::vector<engine::Action> both = {engine::EvictPod{{1}, Ref(), "partial"},
                                            engine::EvictPod{{2}, Ref("b"), "partial"}};
  SECTION("one that a budget protects spares all") {
    desk.api.On(Method::kPost, other, Refusal(429, "Cannot evict pod: disruption budget"));
    for (const engine::Outcome& outcome : desk.Do(both)) {
      // The outcome shows which one it is.
      CHECK(outcome.kind == (outcome.id.value == 2 ? OutcomeKind::kConflict : OutcomeKind::kRetry));
      CHECK_THAT(outcome.message, Catch::Contains("disruption budget"));
    }
    CHECK(AllDry(desk.api.requests()));
  }
  SECTION("of its gang, and nobody else") {
    desk.api.On(Method::kPost, other, Refusal(429, "Cannot evict pod: disruption budget"));
    const std::vector<engine::Action> two_gangs = {
        engine::EvictPod{{1}, Ref(), "partial", {"team", "one"}},
        engine::EvictPod{{2}, Ref("b"), "partial", {"team", "other"}}};
    for (const engine::Outcome& outcome : desk.Do(two_gangs)) {
      CHECK(outcome.kind == (outcome.id.value == 1 ? OutcomeKind::kDone : OutcomeKind::kConflict));
    }
  }
  SECTION("too many requests are no disruption budget") {
    ApiReply busy = Refusal(429, "too many requests, please try again later");
    busy.retry_after = std::chrono::milliseconds(1);
    desk.api.On(Method::kPost, other, busy);
    for (const engine::Outcome& outcome : desk.Do(both)) {
      CHECK(outcome.kind == OutcomeKind::kRetry);
      CHECK(outcome.not_tried);
    }
  }
  SECTION("one whose webhook is down spares all, and is identified") {
    const int status = GENERATE(500, 504);
    desk.api.On(Method::kPost, other, Refusal(status, "failed calling webhook"));
    for (const engine::Outcome& outcome : desk.Do(both)) {
      CHECK(outcome.kind == OutcomeKind::kRetry);
      CHECK(outcome.not_tried == (outcome.id.value != 2));
      CHECK_THAT(outcome.message, Catch::Contains("evicting team/b failed, so none is evicted: ") &&
                                      Catch::Contains("failed calling webhook"));
    }
    CHECK(AllDry(desk.api.requests()));
  }
  SECTION("so is one that nobody answers") {
    desk.api.On(Method::kPost, other, NoConnection());
    for (const engine::Outcome& outcome : desk.Do(both))
      CHECK(outcome.not_tried == (outcome.id.value != 2));
  }
  SECTION("an API server that refuses everybody for a moment is asked again") {
    const int status = GENERATE(401, 403);
    desk.api.Once(Method::kPost, other, Refusal(status, "not known yet"));
    desk.api.On(Method::kPost, other, Reply(201));
    for (const engine::Outcome& outcome : desk.Do(both)) CHECK(outcome.kind == OutcomeKind::kDone);
  }
  SECTION("one that a webhook refuses spares all, too") {
    desk.api.On(Method::kPost, other, Refusal(403, "admission webhook denied the request"));
    for (const engine::Outcome& outcome : desk.Do(both)) {
      CHECK(outcome.kind == (outcome.id.value == 2 ? OutcomeKind::kRefused : OutcomeKind::kRetry));
    }
    CHECK(AllDry(desk.api.requests()));
  }
  SECTION("a budget that lets one of them go keeps both") {
    desk.api.On(Method::kPost, other, Reply(201));
    desk.api.On(Method::kGet, "/apis/policy/v1/namespaces/team/poddisruptionbudgets",
                Reply(200, R"({"items":[{"metadata":{"name":"one","namespace":"team","uid":"b1"},)"
                           R"("spec":{"selector":{"matchLabels":{"job":"x"}}},)"
                           R"("status":{"disruptionsAllowed":1}}]})"));
    const auto pod = [](const char* name, const char* ready) {
      return Reply(200, std::string(R"({"metadata":{"name":")") + name +
                            R"(","labels":{"job":"x"}},"status":{"conditions":[{"type":"Ready",)"
                            R"("status":")" +
                            ready + R"("}]}})");
    };
    desk.api.On(Method::kGet, "/api/v1/namespaces/team/pods/a", pod("a", "True"));
    const bool ready = GENERATE(true, false);
    desk.api.On(Method::kGet, "/api/v1/namespaces/team/pods/b", pod("b", ready ? "True" : "False"));
    for (const engine::Outcome& outcome : desk.Do(both)) {
      const OutcomeKind kept = outcome.id.value == 2 ? OutcomeKind::kConflict : OutcomeKind::kRetry;
      // One that is not ready does not count.
      CHECK(outcome.kind == (ready ? kept : OutcomeKind::kDone));
    }
  }
  SECTION("one that has two budgets is evicted by nobody, ready or not") {
    const auto budget = [](const std::string& name) {
      return R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":")" + name +
             R"("},"spec":{"selector":{"matchLabels":{"job":"x"}}},)" +
             R"("status":{"disruptionsAllowed":9}})";
    };
    desk.api.On(Method::kGet, "/apis/policy/v1/namespaces/team/poddisruptionbudgets",
                Reply(200, R"({"items":[)" + budget("one") + "," + budget("two") + "]}"));
    const std::string phase = GENERATE("Running", "Pending");
    desk.api.On(Method::kGet, "/api/v1/namespaces/team/pods/a",
                Reply(200, R"({"metadata":{"name":"a","labels":{"job":"x"}},"status":{"phase":")" +
                               phase + R"("}})"));
    for (const engine::Outcome& outcome : desk.Do({engine::EvictPod{{1}, Ref(), "partial"}})) {
      // A pod that still waits for its containers is held to no budget.
      const bool held = phase == "Running";
      CHECK(outcome.kind == (held ? OutcomeKind::kConflict : OutcomeKind::kDone));
      if (held)
        CHECK_THAT(outcome.message, Catch::Contains("two PodDisruptionBudgets, one and two"));
    }
  }
  SECTION("when none is, all are evicted") {
    desk.api.On(Method::kPost, other, Reply(201));
    for (const engine::Outcome& outcome : desk.Do(both)) CHECK(outcome.kind == OutcomeKind::kDone);
    const std::vector<ApiRequest> requests = desk.api.requests();
    REQUIRE(requests.size() == 5);
    CHECK_THAT(requests[0].path, Catch::EndsWith("/poddisruptionbudgets"));
    CHECK_THAT(requests[2].body, Catch::Contains("dryRun"));
    CHECK_THAT(requests[3].body, !Catch::Contains("dryRun"));
    CHECK_THAT(requests[4].body, !Catch::Contains("dryRun"));
  }
}

TEST_CASE("an eviction that fails is the engine's to try again: others may go instead",
          "[kube][writer]") {
  Desk desk;
  const engine::Action evict = engine::EvictPod{{1}, Ref(), "partial"};
  const auto meant = [](const FakeApi::Answer& answer) {
    return [answer](const ApiRequest& request) -> FakeApi::Answer {
      return request.body.find("dryRun") == std::string::npos ? answer : Reply(201);
    };
  };
  const auto tries = [&] {
    const std::vector<ApiRequest> all = desk.api.requests();
    return std::count_if(all.begin(), all.end(), [](const ApiRequest& one) {
      return one.method == Method::kPost && one.body.find("dryRun") == std::string::npos;
    });
  };
  desk.api.On(Method::kGet, kPath, Reply(200, PodText(12)));
  SECTION("a webhook that is down") {
    desk.api.On(Method::kPost, kEviction, meant(Refusal(500, "failed calling webhook")));
    const engine::Outcome outcome = desk.Do({evict}).front();
    CHECK(outcome.kind == OutcomeKind::kRetry);
    CHECK_FALSE(outcome.not_tried);
    CHECK(tries() == 1);
  }
  SECTION("an API server that is busy is waited for") {
    ApiReply busy = Refusal(429, "slowly");
    busy.retry_after = std::chrono::milliseconds(1);
    desk.api.On(Method::kPost, kEviction, meant(busy));
    const engine::Outcome outcome = desk.Do({evict}).front();
    CHECK(outcome.kind == OutcomeKind::kRetry);
    CHECK(outcome.not_tried);
    CHECK(tries() == 3);
  }
  SECTION("an answer that was lost, of one that was done") {
    desk.api.On(Method::kPost, kEviction, meant(NoConnection()));
    desk.api.On(Method::kGet, kPath,
                Reply(200, R"({"metadata":{"name":"a","namespace":"team","uid":"u-a",)"
                           R"("deletionTimestamp":"2026-08-21T06:20:39Z"},"spec":{}})"));
    CHECK(desk.DoOne(evict) == OutcomeKind::kDone);
  }
}

// What is evicted together: 64 pods that a budget lets go, of an API server that takes its time.
struct LargeSet {
  explicit LargeSet(Desk& desk) {
    desk.api.Otherwise([this](const ApiRequest& request) -> FakeApi::Answer {
      if (request.path.ends_with("/poddisruptionbudgets")) {
        return Reply(200, R"({"items":[{"metadata":{"name":"b","namespace":"team","uid":"b1"},)"
                          R"("spec":{"selector":{}},"status":{"disruptionsAllowed":99}}]})");
      }
      const bool read = request.method == Method::kGet;
      if (!read && request.body.find("dryRun") == std::string::npos) return Reply(201);
      std::atomic<int>& most = read ? most_reads : most_dry;
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      --running;
      if (!read) ++dry;
      return read ? Reply(200, R"({"metadata":{"name":"p"},"status":{"phase":"Running"}})")
                  : answer;
    });
    for (uint64_t i = 0; i < 64; ++i) {
      pods.push_back(engine::EvictPod{{i}, Ref("p" + std::to_string(i)), "partial"});
    }
  }
  std::vector<engine::Action> pods;
  ApiReply answer = Reply(201);
  std::atomic<int> running{0};
  std::atomic<int> most_reads{0};
  std::atomic<int> most_dry{0};
  std::atomic<int> dry{0};
};

TEST_CASE("a large set of evictions is looked at and tried dry several at a time",
          "[kube][writer]") {
  Desk desk;
  LargeSet set(desk);
  SECTION("all may go") {
    for (const engine::Outcome& outcome : desk.Do(set.pods)) {
      CHECK(outcome.kind == OutcomeKind::kDone);
    }
    CHECK(set.dry == 64);
    CHECK(set.most_reads > 4);
    CHECK(set.most_dry > 4);
    CHECK(set.most_reads <= 16);
    CHECK(set.most_dry <= 16);
  }
  SECTION("one obstacle is enough") {
    set.answer = Refusal(429, "Cannot evict pod: disruption budget");
    int conflicts = 0;
    for (const engine::Outcome& outcome : desk.Do(set.pods)) {
      if (outcome.kind == OutcomeKind::kConflict) ++conflicts;
    }
    CHECK(conflicts == 1);
    CHECK(set.dry <= 16);
  }
  SECTION("none is tried any more once leadership is lost") {
    desk.leader = false;
    for (const engine::Outcome& outcome : desk.Do(set.pods)) {
      CHECK(outcome.kind == OutcomeKind::kRetry);
    }
    CHECK(set.dry == 0);
  }
}

}  // namespace
}  // namespace muster::kube
