#include "engine/standing/work_queue.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::engine {
namespace {

using cluster::Time;

GangId WorkQueueId(const std::string& name) { return {{"team", name}, false}; }

void Touch(WorkQueue& work, const GangId& id) {
  Gang gang;
  gang.id = id;
  work.Touch(gang);
}

// All that one Settle gives out.
std::string Settle(WorkQueue& work) {
  std::string names;
  while (const std::optional<GangId> id = work.NextTouched()) names += id->key.name;
  work.EndRounds();
  return names;
}

TEST_CASE("touched gangs have one turn each, in the order of their ids", "[engine][work]") {
  WorkQueue work;
  for (const char* name : {"c", "a", "b", "a"}) Touch(work, WorkQueueId(name));
  CHECK(work.Touched(WorkQueueId("a")));
  CHECK_FALSE(work.settled());
  CHECK(Settle(work) == "abc");
  CHECK_FALSE(work.Touched(WorkQueueId("a")));
  CHECK(work.settled());
  CHECK(Settle(work).empty());
}

TEST_CASE("a gang that is touched meanwhile has its turn in the next round", "[engine][work]") {
  WorkQueue work;
  Touch(work, WorkQueueId("b"));
  Touch(work, WorkQueueId("c"));
  REQUIRE(work.NextTouched() == WorkQueueId("b"));
  Touch(work, WorkQueueId("a"));
  CHECK(work.Touched(WorkQueueId("c")));
  CHECK(Settle(work) == "ca");
}

TEST_CASE("gangs that touch each other for ever do not hold up Settle", "[engine][work]") {
  WorkQueue work;
  Touch(work, WorkQueueId("a"));
  int turns = 0;
  while (const std::optional<GangId> id = work.NextTouched()) {
    ++turns;
    Touch(work, *id);
  }
  CHECK(turns == 4);
  work.EndRounds();
  CHECK(work.NextTouched() == WorkQueueId("a"));  // the next one goes on
}

TEST_CASE("a gang has one timer, and is touched when it is due", "[engine][work]") {
  WorkQueue work;
  Gang a;
  a.id = WorkQueueId("a");
  Gang b;
  b.id = WorkQueueId("b");
  CHECK(work.due() == Time::Never());
  work.SetTimer(a, Time(300));
  work.SetTimer(a, Time(200));
  work.SetTimer(b, Time(100));
  CHECK(work.due() == Time(100));
  CHECK(work.TouchNextDue(Time(99)) == std::nullopt);
  CHECK(work.TouchNextDue(Time(250)) == b.id);
  CHECK(work.TouchNextDue(Time(250)) == a.id);
  CHECK(work.TouchNextDue(Time(1000)) == std::nullopt);  // the timer of 300 was replaced
  CHECK(Settle(work) == "ab");
  CHECK_FALSE(b.work->timer);
  work.SetTimer(b, Time(400));
  work.Touch(b);
  work.Forget(b);
  CHECK(work.due() == Time::Never());
  CHECK(work.settled());
}

TEST_CASE("gangs that it is time to tell of are told of some at a time, and not looked at",
          "[engine][work]") {
  WorkQueue work;
  std::vector<Gang> gangs(3);
  for (size_t i = 0; i < gangs.size(); ++i) {
    gangs[i].id = WorkQueueId(std::string(1, static_cast<char>('a' + i)));
    work.SetTellTimer(gangs[i], Time(100));
  }
  work.SetTimer(gangs[2], Time(300));
  CHECK(work.due() == Time(100));
  work.TellDue(2, Time(99));
  CHECK(work.told_all());
  work.TellDue(2, Time(100));
  CHECK(work.settled());
  CHECK(work.NextTried() == WorkQueueId("a"));
  CHECK(work.NextTried() == WorkQueueId("b"));
  CHECK(work.told_all());
  CHECK_FALSE(gangs[0].work->tell);
  CHECK(work.due() == Time(100));
  work.Forget(gangs[2]);
  CHECK(work.due() == Time::Never());
}

TEST_CASE("sweeps of a namespace join and begin again", "[engine][work]") {
  WorkQueue work;
  CHECK_FALSE(work.sweeping());
  work.Note("team", {.all = true});
  work.sweep().second.last = WorkQueueId("a");
  work.Note("team", {.waiting = true});
  REQUIRE(work.sweeping());
  CHECK(work.sweep().first == "team");
  CHECK(work.sweep().second.all);
  CHECK(work.sweep().second.waiting);
  CHECK_FALSE(work.sweep().second.last);
  work.EndSweep();
  CHECK_FALSE(work.sweeping());
}

TEST_CASE("a gang that was tried in vain is reported once", "[engine][work]") {
  WorkQueue work;
  work.TriedInVain(WorkQueueId("b"));
  work.TriedInVain(WorkQueueId("a"));
  work.TriedInVain(WorkQueueId("b"));
  CHECK_FALSE(work.told_all());
  CHECK(work.NextTried() == WorkQueueId("a"));
  CHECK(work.NextTried() == WorkQueueId("b"));
  CHECK(work.NextTried() == std::nullopt);
  CHECK(work.told_all());
}

}  // namespace
}  // namespace muster::engine
