#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/kube/lease_world.hpp"

namespace muster::kube {
namespace {

using cluster::Duration;
using cluster::MutexLock;
using cluster::Seconds;
using cluster::Time;

TEST_CASE("of two replicas that race for a new Lease one leads", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  // Both have looked before either has written.
  bool first = true;
  world.serve = [&](Replica& replica, const ApiRequest& request) {
    if (&replica == &a && request.method == Method::kPost && std::exchange(first, false)) {
      world.Elect(b);
    }
    return world.server.Answer(request);
  };
  world.Elect(a);
  CHECK(world.server.Says() == "b/1");
  CHECK(a.epochs.empty());
  CHECK(b.epochs.size() == 1);
  world.Pass(Seconds(300));
  CHECK(world.epochs.size() == 1);
  CHECK(world.most_leaders == 1);
}

TEST_CASE("when the leader dies the next one leads after the duration", "[kube][lease]") {
  LeaseWorld world;
  Replica& a = world.Add("a");
  Replica& b = world.Add("b");
  b.offset = Seconds(-500);
  b.skew = Seconds(86400);
  world.Pass(Seconds(100));
  a.alive = false;
  const Time died = world.now;
  for (int i = 0; i < 300 && b.epochs.empty(); ++i) world.Pass(Duration(100));
  // It saw the last renewal up to 4.4 s late, and looks up to 4.4 s late.
  CHECK(world.now - died > Seconds(12));
  CHECK(world.now - died < Seconds(24));
  CHECK(world.server.Says() == "b/2");
}

// What can happen to one call of one replica.
FakeApi::Answer Misfortune(LeaseWorld& world, const ApiRequest& request, int severity) {
  const auto chance = [&](int percent) {
    return static_cast<int>(world.random() % 100) < percent * severity;
  };
  const auto pass = [&](int64_t most) {
    world.Pass(Duration(1 + static_cast<int64_t>(world.random() % static_cast<uint64_t>(most))));
  };
  // The others go on meanwhile, and this one stands still: a slow network, or a stopped process.
  pass(40);
  if (chance(1)) pass(90'000);
  if (chance(4)) return NoConnection();
  if (chance(2)) return Refusal(500, "oops");
  if (chance(4)) pass(4'900);
  FakeApi::Answer answer = world.server.Answer(request);
  if (chance(4)) {
    pass(5'000);
    return NoConnection();  // done, but its answer is lost
  }
  if (chance(4)) pass(4'900);
  if (chance(1)) pass(90'000);
  pass(40);
  return answer;
}

TEST_CASE("never do two replicas lead, whatever happens to them", "[kube][lease]") {
  int64_t terms = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    LeaseWorld world(seed);
    const int severity = static_cast<int>(seed % 4);
    for (const char* name : {"a", "b", "c"}) {
      Replica& replica = world.Add(name);
      // Clocks differ by hours, and run up to a tenth too fast or too slow.
      replica.offset = Seconds(static_cast<int64_t>(world.random() % 100'000));
      replica.skew = Seconds(static_cast<int64_t>(world.random() % 1'000'000) - 500'000);
      replica.rate = 0.9 + 0.001 * static_cast<double>(world.random() % 200);
    }
    world.serve = [&](Replica&, const ApiRequest& request) {
      CHECK(world.leaders() <= 1);
      return Misfortune(world, request, severity);
    };
    for (int round = 0; round < 120; ++round) {
      world.Pass(Duration(static_cast<int64_t>(world.random() % 20'000)));
      CHECK(world.most_leaders <= 1);
      // Now and then somebody touches the Lease, and once, when all have seen it, deletes it.
      if (world.random() % 10 == 0) world.server.Touch();
      if (round == 40) world.server.Delete();
    }
    // Each term's epoch is above all before it.
    CHECK(std::adjacent_find(world.epochs.begin(), world.epochs.end(), std::greater_equal<>()) ==
          world.epochs.end());
    terms += static_cast<int64_t>(world.epochs.size());
    // When all is well again somebody leads, and goes on leading.
    world.serve = nullptr;
    world.Pass(Seconds(60));
    CHECK(world.leaders() == 1);
    const size_t now = world.epochs.size();
    world.Pass(Seconds(600));
    CHECK(world.epochs.size() == now);
    CHECK(world.leaders() == 1);
  }
  // The run has seen what it is about.
  CHECK(terms > 300);
}

// The threads, with times that are short.
class Counter {
 public:
  void Add(int amount) {
    const MutexLock lock(mu_);
    value_ += amount;
    changed_.NotifyAll();
  }
  bool Reach(int wanted) {
    const MutexLock lock(mu_);
    for (int tries = 0; value_ != wanted && tries < 600; ++tries) {
      changed_.WaitFor(mu_, std::chrono::milliseconds(100));
    }
    return value_ == wanted;
  }

 private:
  cluster::Mutex mu_;
  cluster::CondVar changed_;
  int value_ MUSTER_GUARDED_BY(mu_) = 0;
};

TEST_CASE("with threads: one leads, and when it stops the other one does", "[kube][lease]") {
  LeaseServer server;
  cluster::Mutex mu;
  FakeApi api;
  api.Otherwise([&](const ApiRequest& request) {
    const MutexLock lock(mu);
    return server.Answer(request);
  });
  Counter leaders;
  Counter terms;
  const auto make = [&](const std::string& name) {
    LeaseOptions options;
    options.lease = {"system", "muster"};
    options.identity = name;
    options.retry = Duration(10);
    return std::make_unique<LeaderElection>(
        LeaderElection::Ports{.api = api,
                              .on_started =
                                  [&](uint64_t) {
                                    leaders.Add(1);
                                    terms.Add(1);
                                  },
                              .on_stopped = [&] { leaders.Add(-1); },
                              .warn = [](const std::string&) {}},
        options);
  };
  auto a = make("a");
  auto b = make("b");
  a->Start();
  CHECK(leaders.Reach(1));
  b->Start();
  CHECK(a->MayWrite());
  a->Stop();
  CHECK(!a->MayWrite(Duration(0)));
  CHECK(terms.Reach(2));
  CHECK(b->MayWrite());
  CHECK(b->epoch() == 2);
  b.reset();
  CHECK(leaders.Reach(0));
  const MutexLock lock(mu);
  CHECK(server.Says() == "/2");
}

}  // namespace
}  // namespace muster::kube
