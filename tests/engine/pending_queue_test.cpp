#include "engine/standing/pending_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/standing/queue_book.hpp"
#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

// Gangs "a", "b", … in that order, of one priority each.
class Queue {
 public:
  Gang& Add(const std::string& name, int64_t priority = 0) {
    Gang& gang = gangs_.emplace_back();
    gang.id = {{"team", name}, false};
    queue.Add(gang, queues::OrderKey{priority, false, true, 0, gang.id}, queues::kRoot);
    return gang;
  }
  // Beside those that were not tried yet.
  struct Scope {
    bool all = false;
    std::optional<int64_t> above;
  };
  // Whose turn it is, until `judge` has nothing more to say.
  std::string Pass(Scope scope, const std::function<void(Gang&)>& judge) {
    if (scope.all) queue.AnythingMayFit();
    if (scope.above) queue.RetryQueue(queues::kRoot, *scope.above);
    queue.Begin(0);
    std::string turns;
    while (Gang* gang = queue.Next()) {
      turns += gang->id.key.name;
      judge(*gang);
      CHECK(queue.Audit().empty());
    }
    return turns;
  }
  static KindKey KindOf(const Gang& gang, uint64_t spec) {
    KindKey key;
    key.request.queue = gang.queue->queue;
    key.request.roles = {{spec, 1}};
    key.priority = gang.queue->order->priority;
    return key;
  }

  QueueBook book{queues::OneQueue()};
  PendingQueue queue{book};

 private:
  std::deque<Gang> gangs_;
};

const Queue::Scope kAll{true, std::nullopt};

Reason Code(ReasonCode code, int64_t have = 0) { return Because(code, have, 8); }

TEST_CASE("what failed is known until something becomes free or may fit", "[engine][queue]") {
  Queue world;
  PendingQueue& queue = world.queue;
  world.Add("a", 5);
  const policy::RequestKey shape = {
      .roles = {{1, 4}}, .queue = "", .wish = "", .beside = {}, .rules = ""};
  CHECK(queue.PassNeeded(0));  // it was not tried yet
  CHECK(world.Pass({}, [](Gang&) {}) == "a");
  queue.Fail(shape, 5, Code(ReasonCode::kFragmented, 3));
  CHECK_FALSE(queue.PassNeeded(0));
  queue.RetryAll();
  CHECK(queue.PassNeeded(0));
  queue.Begin(0);
  REQUIRE(queue.Failed(shape, 5) != nullptr);
  CHECK(*queue.Failed(shape, 5) == Code(ReasonCode::kFragmented, 3));
  CHECK(queue.Failed(shape, 6) == nullptr);
  SECTION("something became free") {
    CHECK(queue.PassNeeded(1));
    queue.Begin(1);
    CHECK(queue.Failed(shape, 5) == nullptr);
  }
  SECTION("anything may fit") {
    queue.AnythingMayFit();
    CHECK(queue.PassNeeded(0));
    queue.Begin(0);
    CHECK(queue.Failed(shape, 5) == nullptr);
  }
  SECTION("more can be evicted for somebody who waits") {
    queue.RetryQueue(queues::kRoot, 4);
    queue.Begin(0);
    CHECK(queue.Failed(shape, 5) == nullptr);
  }
  SECTION("more can be evicted, but for nobody who waits") {
    queue.RetryQueue(queues::kRoot, 5);
    queue.Begin(0);
    CHECK(queue.Failed(shape, 5) != nullptr);
    CHECK(queue.Next() == nullptr);
  }
}

TEST_CASE("of a kind that failed nobody else has a turn", "[engine][queue]") {
  Queue world;
  for (const char* name : {"a", "b", "c", "d"}) world.Add(name);
  const auto fails = [&](Gang& gang) {
    const uint64_t spec = gang.id.key.name < "c" ? 1 : 2;
    world.queue.Judge(gang, Queue::KindOf(gang, spec), GangState::kQueued,
                      Code(ReasonCode::kFragmented));
    gang.state = GangState::kQueued;
    gang.reason = Code(ReasonCode::kFragmented);
  };
  // Nobody is known to be of any kind before it was tried.
  CHECK(world.Pass(kAll, fails) == "abcd");
  CHECK(world.Pass(kAll, fails) == "ac");
  CHECK(world.Pass({}, fails).empty());
  world.Add("e");
  CHECK(world.Pass({}, fails) == "e");
}

TEST_CASE("a gang of a kind that is placed leaves the turn to the next one", "[engine][queue]") {
  Queue world;
  for (const char* name : {"a", "b", "c", "d"}) world.Add(name);
  int placed = 0;
  const auto judge = [&](Gang& gang) {
    if (placed-- > 0) return world.queue.Leave(gang);
    world.queue.Judge(gang, Queue::KindOf(gang, 1), GangState::kQueued, {});
  };
  CHECK(world.Pass(kAll, judge) == "abcd");
  placed = 2;
  CHECK(world.Pass(kAll, judge) == "abc");
  CHECK(world.Pass(kAll, judge) == "ab");  // each for itself once, and of the kind again
  CHECK(world.Pass(kAll, judge) == "a");
  CHECK(world.queue.kinds() == 1);
}

TEST_CASE("a scope of higher priorities is of those alone", "[engine][queue]") {
  Queue world;
  world.Add("c", 0);
  world.Add("b", 5);
  world.Add("a", 9);
  world.Add("d", 5);
  const auto fails = [&](Gang& gang) {
    world.queue.Judge(gang, Queue::KindOf(gang, 1), GangState::kQueued, {});
  };
  CHECK(world.Pass(kAll, fails) == "abdc");
  CHECK(world.Pass({.all = false, .above = 0}, fails) == "ab");
  CHECK(world.Pass({.all = false, .above = 5}, fails) == "a");
  CHECK(world.Pass({.all = false, .above = 9}, fails).empty());
}

TEST_CASE("a verdict is brought to all of a kind, some at a time", "[engine][queue]") {
  Queue world;
  std::vector<Gang*> gangs;
  for (int i = 0; i < 100; ++i) gangs.push_back(&world.Add("g" + std::to_string(100 + i)));
  ReasonCode why = ReasonCode::kFragmented;
  int64_t have = 0;
  const auto fails = [&](Gang& gang) {
    gang.state = GangState::kQueued;
    gang.reason = Code(why, have);
    world.queue.Judge(gang, Queue::KindOf(gang, 1), gang.state, gang.reason);
  };
  world.Pass(kAll, fails);
  const auto spread = [&](int64_t most, int& changed) {
    return world.queue.PropagateVerdict(most, [&](Gang& gang, const Kind& kind) {
      ++changed;
      gang.reason = kind.reason;
    });
  };
  int changed = 0;
  CHECK(spread(1, changed));
  CHECK(changed == 0);
  // Numbers alone are shared, and cost nothing.
  have = 3;
  world.Pass(kAll, fails);
  CHECK(spread(1, changed));
  CHECK(PendingQueue::ReasonOf(*gangs.back()).have == 3);
  CHECK(gangs.back()->reason.have == 0);
  // Another reason has to be told of one by one. One that leaves meanwhile keeps what it had.
  why = ReasonCode::kNotEnoughGpus;
  world.Pass(kAll, fails);
  CHECK_FALSE(spread(40, changed));
  world.queue.Remove(*gangs[40]);
  CHECK_FALSE(spread(40, changed));
  CHECK(spread(40, changed));
  CHECK(changed == 98);  // all but the one that was next and the one that left
  CHECK(gangs[39]->reason.code == ReasonCode::kNotEnoughGpus);
  CHECK(gangs[40]->reason.code == ReasonCode::kFragmented);
  CHECK(gangs[99]->reason.code == ReasonCode::kNotEnoughGpus);
}

TEST_CASE("a thousand gangs that ask for the same are planned once when room is freed",
          "[engine][queue]") {
  testing::Harness world;
  world.Add(testing::MakeNode("n0").Gpus(8).Build());
  world.AddGang("running", 1, 8, 1);
  world.Settle();
  world.ScheduleAll("running");
  world.Settle();
  for (int i = 0; i < 1'000; ++i) {
    world.Add(testing::MakePod("w" + std::to_string(i)).Gpus(8).Gated().Build());
  }
  world.Settle();
  CHECK(world.Gang("w999").reason.code == ReasonCode::kNotEnoughGpus);
  CHECK(world.Gang("w999").reason.have == 0);
  // Another device: too few for any of them, and each says so.
  world.Add(testing::MakeNode("n1").Gpus(1).Build());
  const Progress progress = world.engine().Advance(world.now());
  CHECK(progress.gangs_tried == 1);
  CHECK(world.Gang("w0").reason.have == 1000);
  CHECK(world.Gang("w999").reason.have == 1000);
  CHECK(world.Gang("w999").state == GangState::kQueued);
}

int64_t StatusWrites(const Progress& progress) {
  return std::count_if(progress.actions.begin(), progress.actions.end(), [](const Action& action) {
    return std::holds_alternative<PatchGang>(action);
  });
}

TEST_CASE("gangs that begin to wait together are told of some at a time", "[engine][queue]") {
  testing::Harness world;
  for (const char* node : {"n0", "n1"}) world.Add(testing::MakeNode(node).Gpus(8).Build());
  world.AddGang("running", 2, 8, 2);
  world.Settle();
  world.ScheduleAll("running");
  world.Settle();
  for (int i = 0; i < 200; ++i) world.AddGang("w" + std::to_string(i), 2, 8, 2);
  world.Settle();
  const cluster::Time later = world.now() + cluster::Seconds(5);
  REQUIRE(world.Gang("w199").state == GangState::kQueued);
  int64_t told = 0;
  int rounds = 0;
  for (; told < 200 && rounds < 20; ++rounds) {
    const int64_t now = StatusWrites(world.engine().Advance(later));
    CHECK(now <= 64);
    told += now;
    CHECK((world.engine().NextWake() <= later) == (told < 200));
  }
  CHECK(told == 200);
  CHECK(rounds == 4);
}

}  // namespace
}  // namespace muster::engine
