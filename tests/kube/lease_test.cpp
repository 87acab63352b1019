#include "kube/lead/lease.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/kube/lease_world.hpp"

namespace muster::kube {
namespace {

using cluster::Duration;
using cluster::Seconds;
using cluster::Time;

const LeaseRecord kHeldByOther{"other", 15, "2026-01-01T00:00:00.000000Z",
                               "2026-01-01T00:00:00.000000Z", 4};

// Answers normally after `latency`.
auto Slow(LeaseWorld& world, Duration latency) {
  return [&world, latency](Replica&, const ApiRequest& request) {
    FakeApi::Answer answer = world.server.Answer(request);
    world.now = world.now + latency;
    return answer;
  };
}

FakeApi::Answer Broken(Replica&, const ApiRequest&) { return NoConnection(); }

TEST_CASE("a Lease that is not there is created, and its creator leads", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  CHECK(!a.election->MayWrite(Seconds(0)));
  CHECK(!a.election->deadline());
  world.Elect(a);
  CHECK(a.api.lines() ==
        std::vector<std::string>{"GET /apis/coordination.k8s.io/v1/namespaces/system/leases/muster",
                                 "POST /apis/coordination.k8s.io/v1/namespaces/system/leases"});
  CHECK(a.api.requests()[1].body ==
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease",)"
        R"("metadata":{"name":"muster","namespace":"system"},"spec":{"holderIdentity":"a",)"
        R"("leaseDurationSeconds":15,"acquireTime":"2026-09-21T14:30:00.000000Z",)"
        R"("renewTime":"2026-09-21T14:30:00.000000Z","leaseTransitions":1}})");
  CHECK(a.epochs == std::vector<uint64_t>{1});
  CHECK(a.election->epoch() == 1);
  CHECK(a.election->deadline() == world.now + Seconds(10));
  CHECK(a.election->MayWrite());
}

TEST_CASE("the holder renews every 2 s with one call", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  world.Pass(Seconds(1));
  a.api.ForgetRequests();
  const LeaseRecord before = world.server.record();
  world.Pass(Seconds(60));
  CHECK(a.api.requests().size() == 30);
  for (const ApiRequest& request : a.api.requests()) CHECK(request.method == Method::kPut);
  CHECK(world.server.record().acquire_time == before.acquire_time);
  CHECK(world.server.record().renew_time != before.renew_time);
  CHECK(world.server.record().transitions == 1);
  CHECK(a.epochs.size() == 1);
  CHECK(a.stopped == 0);
}

TEST_CASE("the term counts from the start of the renewal", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  world.Pass(Seconds(1));
  world.serve = Slow(world, Seconds(3));
  const Time start = world.now;
  world.Elect(a);
  CHECK(world.now == start + Seconds(3));
  CHECK(a.election->deadline() == start + Seconds(10));
  // With a margin of 4 s; one may ask for another.
  world.now = start + Seconds(6);
  CHECK(a.election->MayWrite());
  world.now = world.now + Duration(1);
  CHECK(!a.election->MayWrite());
  CHECK(a.election->MayWrite(Seconds(3)));
  world.now = start + Seconds(10);
  CHECK(a.election->MayWrite(Seconds(0)));
  world.now = world.now + Duration(1);
  CHECK(!a.election->MayWrite(Seconds(0)));
}

TEST_CASE("who holds it is let be for the duration since the last change that was seen",
          "[kube][lease]") {
  // Whatever the times in it say, and whatever the own wall clock says.
  const Duration skew = GENERATE(Seconds(0), Seconds(-10'000'000), Seconds(10'000'000));
  LeaseWorld world;
  world.server.Set(kHeldByOther);
  Replica& a = world.Add("a");
  a.skew = skew;
  world.Pass(Seconds(14));
  CHECK(world.server.writes() == 0);
  // A renewal that is seen begins it again.
  LeaseRecord renewed = kHeldByOther;
  renewed.renew_time = "2025-01-01T00:00:00.000000Z";
  world.server.Set(renewed, R"("labels":{"team":"infra"},)");
  const Time seen_at_least = world.now;
  for (int i = 0; i < 3000 && world.server.writes() == 0; ++i) world.Pass(Duration(10));
  CHECK(world.now >= seen_at_least + Seconds(15));
  CHECK(world.now <= seen_at_least + Seconds(25));
  CHECK(world.server.Says() == "a/5");
  CHECK(a.epochs == std::vector<uint64_t>{5});
  // What others wrote into its metadata stays.
  CHECK(a.api.requests().back().body.find(R"("labels":{"team":"infra"})") != std::string::npos);
}

TEST_CASE("the duration is the one that the holder wrote", "[kube][lease]") {
  LeaseWorld world;
  LeaseRecord record = kHeldByOther;
  record.duration_seconds = GENERATE(60, 0);
  world.server.Set(record);
  world.Add("a");
  world.Pass(Seconds(30));
  CHECK(world.server.Says() == (record.duration_seconds == 0 ? "a/5" : "other/4"));
}

TEST_CASE("a change of something else is no renewal", "[kube][lease]") {
  LeaseWorld world;
  world.server.Set(kHeldByOther);
  Replica& a = world.Add("a");
  for (int i = 0; i < 25; ++i) {
    world.server.Touch();
    world.Pass(Seconds(1));
  }
  CHECK(a.epochs.size() == 1);
}

TEST_CASE("a Lease that was given back is taken at once", "[kube][lease]") {
  LeaseWorld world;
  LeaseRecord free = kHeldByOther;
  free.holder.clear();
  world.server.Set(free);
  Replica& a = world.Add("a");
  world.Elect(a);
  CHECK(world.server.Says() == "a/5");
  CHECK(a.election->MayWrite());
}

TEST_CASE("409 is a lost race", "[kube][lease]") {
  LeaseWorld world;
  LeaseRecord free = kHeldByOther;
  free.holder.clear();
  world.server.Set(free);
  Replica& a = world.Add("a");
  world.serve = [&](Replica&, const ApiRequest& request) {
    // The other one was faster.
    if (request.method == Method::kPut) world.server.Set(kHeldByOther);
    return world.server.Answer(request);
  };
  world.Elect(a);
  CHECK(world.server.Says() == "other/4");
  CHECK(a.api.requests().size() == 2);
  CHECK(!a.election->deadline());
  CHECK(a.epochs.empty());
  CHECK(a.warnings.empty());
  SECTION("also when creating") {
    world.server.Delete();
    Replica& b = world.Add("b");
    world.serve = [&](Replica&, const ApiRequest& request) {
      if (request.method == Method::kPost) world.server.Set(kHeldByOther);
      return world.server.Answer(request);
    };
    world.Elect(b);
    CHECK(world.server.Says() == "other/4");
    CHECK(b.epochs.empty());
  }
}

TEST_CASE("a renewal that meets somebody else's change looks again at once", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  world.Pass(Seconds(1));
  SECTION("of something else: it goes on") {
    world.server.Touch();
    world.Pass(Seconds(2));
    CHECK(world.server.Says() == "a/1");
    CHECK(a.election->MayWrite());
    CHECK(a.stopped == 0);
  }
  SECTION("of the holder: it is over at once") {
    world.server.Set(kHeldByOther);
    world.Pass(Seconds(2));
    CHECK(!a.election->MayWrite(Seconds(0)));
    CHECK(a.stopped == 1);
    CHECK(world.server.Says() == "other/4");
    REQUIRE(a.warnings.size() == 1);
    CHECK(a.warnings.front() == "leadership is lost: the Lease is held by \"other\"");
  }
  SECTION("the same identity in another term: another process has it") {
    LeaseRecord record = world.server.record();
    record.transitions = 9;
    world.server.Set(record);
    world.Pass(Seconds(2));
    CHECK(a.stopped == 1);
    CHECK(a.epochs == std::vector<uint64_t>{1, 10});
  }
}

TEST_CASE("errors during renewals end the term when it is over, not before", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  world.Pass(Seconds(1));
  const FakeApi::Answer failure =
      GENERATE(FakeApi::Answer(NoConnection()), FakeApi::Answer(Refusal(500, "oops")),
               FakeApi::Answer(Refusal(429, "slow down")), FakeApi::Answer(Refusal(403, "no")));
  world.serve = [&](Replica&, const ApiRequest&) { return failure; };
  const Time deadline = *a.election->deadline();
  world.Pass(deadline - world.now);
  CHECK(a.election->MayWrite(Seconds(0)));
  CHECK(!a.election->MayWrite());
  CHECK(a.stopped == 0);
  world.Pass(Duration(1));
  CHECK(!a.election->MayWrite(Seconds(0)));
  CHECK(a.stopped == 1);
  // The same words are not said again and again.
  world.Pass(Seconds(60));
  CHECK(a.warnings.size() <= 5);
  // A few errors harm nobody.
  world.serve = nullptr;
  world.Pass(Seconds(10));
  CHECK(a.epochs == std::vector<uint64_t>{1, 2});
  world.serve = Broken;
  world.Pass(Seconds(4));
  world.serve = nullptr;
  world.Pass(Seconds(10));
  CHECK(a.epochs.size() == 2);
  CHECK(a.election->MayWrite());
}

TEST_CASE("a process that was stopped for a minute may not write from its first instruction on",
          "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  world.Pass(Seconds(3));
  CHECK(a.election->MayWrite());
  a.busy = true;  // stopped
  world.Pass(Seconds(60));
  CHECK(!a.election->MayWrite(Seconds(0)));
  CHECK(b.election->MayWrite());
  a.busy = false;
  world.Elect(a);
  CHECK(a.stopped == 1);
  CHECK(a.epochs.size() == 1);
  CHECK(b.epochs == std::vector<uint64_t>{2});
}

TEST_CASE("an answer that comes too late is of no use", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  SECTION("of a renewal") {
    world.Pass(Seconds(1));
    world.serve = Slow(world, Seconds(60));
    world.Elect(a);
    CHECK(world.server.Says() == "a/1");
    CHECK(!a.election->MayWrite(Seconds(0)));
    CHECK(a.stopped == 1);
    // Nobody took it meanwhile: another term begins.
    world.serve = nullptr;
    world.Pass(Seconds(5));
    CHECK(a.epochs == std::vector<uint64_t>{1, 2});
  }
  SECTION("of the first one") {
    world.serve = Slow(world, Seconds(11));
    world.Elect(a);
    CHECK(world.server.Says() == "a/1");
    CHECK(a.epochs.empty());
    world.serve = nullptr;
    world.Pass(Seconds(5));
    CHECK(a.epochs.size() == 1);
  }
}

TEST_CASE("a write whose answer was lost is found at the next look", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  bool lose = true;
  world.serve = [&](Replica&, const ApiRequest& request) -> FakeApi::Answer {
    FakeApi::Answer answer = world.server.Answer(request);
    if (request.method != Method::kGet && std::exchange(lose, false)) return NoConnection();
    return answer;
  };
  world.Elect(a);
  CHECK(world.server.Says() == "a/1");
  CHECK(!a.election->MayWrite());
  world.Pass(Seconds(5));
  CHECK(a.epochs == std::vector<uint64_t>{2});
  // Of a renewal: the term goes on.
  lose = true;
  world.Pass(Seconds(5));
  CHECK(a.epochs.size() == 1);
  CHECK(a.stopped == 0);
  CHECK(a.election->MayWrite());
}

TEST_CASE("a process that wants one term leads no other", "[kube][lease]") {
  LeaseWorld world;
  world.one_term = true;
  Replica& a = world.Add("a");
  world.Pass(Seconds(3));
  REQUIRE(a.epochs == std::vector<uint64_t>{1});
  a.alive = false;  // paused for longer than its term
  world.Pass(Seconds(12));
  a.alive = true;
  world.Pass(Seconds(60));
  CHECK(a.epochs.size() == 1);
  CHECK(a.stopped == 1);
  CHECK_FALSE(a.election->MayWrite(Seconds(0)));
  CHECK(world.server.Says() == "a/1");  // and it left the Lease alone
}

TEST_CASE("a process that wants one term ends when that was over before anybody was told",
          "[kube][lease]") {
  LeaseWorld world;
  world.one_term = true;
  Replica& a = world.Add("a");
  a.election->Elect();
  world.now = world.now + Seconds(60);  // stopped
  while (a.election->Announce() != Time::Never()) {
  }
  CHECK(a.epochs.empty());
  CHECK(a.stopped == 1);
  world.Pass(Seconds(60));
  CHECK(a.epochs.empty());
  CHECK(a.stopped == 1);
}

TEST_CASE("Stop gives the Lease back, and another replica leads at once", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  world.Pass(Seconds(3));
  bool stopped_first = false;
  world.serve = [&](Replica&, const ApiRequest& request) {
    stopped_first = a.stopped == 1 && !a.election->MayWrite(Seconds(0));
    return world.server.Answer(request);
  };
  if (GENERATE(false, true)) world.server.Touch();
  a.election->Stop();
  a.alive = false;
  CHECK(stopped_first);
  CHECK(world.server.Says() == "/1");
  CHECK(world.server.record().duration_seconds == 1);
  CHECK(a.stopped == 1);
  world.Pass(Duration(4400));
  CHECK(b.epochs == std::vector<uint64_t>{2});
}

TEST_CASE("Stop writes nothing where nothing is held", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  SECTION("never") {
    world.server.Set(kHeldByOther);
    world.Pass(Seconds(3));
  }
  SECTION("not any more") {
    world.Pass(Seconds(3));
    a.busy = true;
    world.Pass(Seconds(11));
    a.busy = false;
  }
  const int64_t writes = world.server.writes();
  a.election->Stop();
  a.election->Stop();
  CHECK(world.server.writes() == writes);
  CHECK(a.stopped == static_cast<int>(a.epochs.size()));
}

TEST_CASE("a Lease that is deleted goes back to its holder", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  world.Pass(Seconds(10));
  world.server.Delete();
  SECTION("which lives") {
    world.Pass(Seconds(30));
    CHECK(world.server.Says() == "a/1");
    CHECK(a.stopped == 0);
    CHECK(b.epochs.empty());
  }
  SECTION("unless that is gone, for as long as it could have led") {
    a.busy = true;
    const Time end = *a.election->deadline();
    for (int i = 0; i < 300 && !world.server.exists(); ++i) world.Pass(Duration(100));
    CHECK(world.now > end);
    // Above all terms that it may have missed.
    CHECK(world.server.Says() == "b/1002");
  }
}

TEST_CASE("candidates look every 2 s to 4.4 s", "[kube][lease]") {
  LeaseWorld world;
  world.server.Set(kHeldByOther);
  Replica& a = world.Add("a");
  std::set<int64_t> waits;
  for (int i = 0; i < 200; ++i) {
    LeaseRecord renewed = kHeldByOther;
    renewed.renew_time = std::to_string(i);
    world.server.Set(renewed);
    world.Elect(a);
    waits.insert((a.due - world.now).value());
    world.now = a.due;
  }
  CHECK(*waits.begin() >= 2000);
  CHECK(*waits.begin() < 2200);
  CHECK(*waits.rbegin() <= 4400);
  CHECK(*waits.rbegin() > 4200);
}

TEST_CASE("Leases that make no sense, and those that may not be read", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  world.serve = [](Replica&, const ApiRequest&) { return Refusal(403, "leases is forbidden"); };
  world.Pass(Seconds(60));
  REQUIRE(a.warnings.size() == 1);
  CHECK(a.warnings.front() == "the Lease cannot be read: HTTP 403: leases is forbidden");
  for (const char* body :
       {"nonsense", "{}", "[]",
        R"({"metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":1}})",
        R"({"metadata":{"resourceVersion":"1"},"spec":{"leaseTransitions":-1}})"}) {
    world.serve = [&](Replica&, const ApiRequest& request) {
      CHECK(request.method == Method::kGet);
      return Reply(200, body);
    };
    world.Pass(Seconds(5));
  }
  CHECK(a.epochs.empty());
  // An answer to a write that makes no sense still says that it was done.
  world.serve = [&](Replica&, const ApiRequest& request) -> FakeApi::Answer {
    FakeApi::Answer answer = world.server.Answer(request);
    return request.method == Method::kGet ? answer : FakeApi::Answer(Reply(200, "<html>"));
  };
  world.Pass(Seconds(20));
  CHECK(a.epochs.size() == 1);
  CHECK(a.election->MayWrite());
}

}  // namespace
}  // namespace muster::kube
