// Owners that cannot be read, and the pods that wait for them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/kube/grouping_book_world.hpp"

namespace muster::kube {
namespace {

using cluster::Duration;
using cluster::PodUid;
using cluster::Time;

const OwnerAnswer kRefusedAnswer{OwnerAnswer::Kind::kRefused, {}, "no right"};

TEST_CASE("pods of an owner that may not be read wait together, and that is said once for its kind",
          "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.See("b", {.job = "other"});
  const std::string told = world.Answer(kRefusedAnswer);
  CHECK_THAT(told,
             Catch::Contains("a: job:train of 1;") && Catch::Contains("b: job:other of 1;") &&
                 Catch::Contains("! owners of kind Job of batch cannot be read, and what they "
                                 "and their owners say of gangs is not known (no right);"));
  CHECK(world.book.withheld() == 0);
  CHECK(world.book.Find(PodUid("uid-a"))->kind == Grouping::Kind::kUnreadable);
  CHECK(world.book.Find(PodUid("uid-a"))->reason == "Job train: no right");
  CHECK(world.See("c") == "c: job:train of 1");
  CHECK(world.book.Find(PodUid("uid-c"))->key == world.book.Find(PodUid("uid-a"))->key);
  CHECK_FALSE(world.book.owners().Take(world.now));
  world.now = world.now + Duration(60'000);
  CHECK(world.Answer(kRefusedAnswer).empty());  // one of them is asked for
  CHECK_FALSE(world.book.owners().Take(world.now));
  world.now = world.now + Duration(60'000);
  for (int i = 0; i < 2; ++i) {  // the right is there now
    const auto request = world.book.owners().Take(world.now);
    REQUIRE(request);
    world.book.Learn(request->key, ReadAs(JobJson(request->key.name, 2)), world.now);
  }
  CHECK(world.See("a") == "a: job:train of 2");
  CHECK(world.See("b", {.job = "other"}) == "b: job:other of 2");
}

TEST_CASE("a pod that runs is in the gang it was bound in while its owner cannot be read",
          "[kube][grouping]") {
  BookWorld world;
  world.book.Start();
  world.See("a", {.node = "n0"});
  world.See("b", {.node = "n0", .bound_in = "job:train~7"});
  CHECK_THAT(world.Answer(kRefusedAnswer),
             Catch::Contains("a: alone;") && Catch::Contains("b: job:train of 1;"));
}

TEST_CASE("pods start alone where the policy says that of owners that cannot be read",
          "[kube][grouping]") {
  BookWorld world;
  world.book.Set(
      {config::ShippedGroupingRules(), {"muster"}, true, cluster::UnreadableOwners::kAlone});
  world.See("a");
  SECTION("at once where that is refused") {
    CHECK_THAT(world.Answer(kRefusedAnswer), Catch::StartsWith("a: alone;"));
  }
  SECTION("after a minute where it fails") {
    const OwnerAnswer failed{OwnerAnswer::Kind::kFailed, {}, "no connection"};
    const Time begin = world.now;
    std::string told;
    while (told.find("a: alone") == std::string::npos) {
      told = world.Answer(failed);
      world.now = std::max(world.now, world.book.owners().NextDue());
    }
    CHECK(world.now - begin >= Duration(60'000));
    CHECK(world.now - begin <= Duration(90'000));
  }
  SECTION("and together as soon as the policy says so") {
    world.Answer(kRefusedAnswer);
    const auto told = world.book.Set({config::ShippedGroupingRules(), {"muster"}});
    REQUIRE(told.pods.size() == 1);
    CHECK(BookWorld::Shown(told.pods[0]) == "a: job:train of 1");
  }
}

TEST_CASE("reads that fail are tried again, and pods wait for them and say so",
          "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  const OwnerAnswer failed{OwnerAnswer::Kind::kFailed, {}, "no connection"};
  const Time begin = world.now;
  std::string told;
  const auto fail = [&] {
    told += world.Answer(failed);
    world.now = std::max(world.now, world.book.owners().NextDue());
  };
  while (told.empty()) fail();
  CHECK_THAT(told,
             Catch::StartsWith("a: job:train of 1;! owners of kind Job of batch cannot be read"));
  CHECK(world.now - begin <= Duration(10'000));
  CHECK(world.book.Find(PodUid("uid-a"))->reason == "Job train: no connection");
  for (int i = 0; i < 40; ++i) fail();
  CHECK(told.find("alone") == std::string::npos);
  CHECK(world.reads < 60);
  CHECK(world.Answer(JobJson("train", 2)) == "a: job:train of 2;");
}

}  // namespace
}  // namespace muster::kube
