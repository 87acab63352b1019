// Whose owners are read next.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/policies/grouping_file.hpp"
#include "kube/owners/owner_table.hpp"

namespace muster::kube {
namespace {

using Need = OwnerTable::Need;

struct TurnsWorld {
  void Use(const std::string& ns, const std::string& job, Need need = Need::kWaiting) {
    const OwnerKey key{"batch/v1", "Job", ns, job, "uid-" + ns + job};
    table.Use(cluster::PodUid(ns + "-" + job), {key}, need, rules);
  }
  // The namespaces of the next reads, each of which is answered.
  std::string Next(int reads) {
    std::string namespaces;
    for (int i = 0; i < reads; ++i) {
      const auto request = table.Take(now);
      if (!request) return namespaces + "-";
      namespaces += request->key.ns;
      table.Learn(request->key, {OwnerAnswer::Kind::kGone, {}, {}}, now);
    }
    return namespaces;
  }

  cluster::GroupingRules rules = config::ShippedGroupingRules();
  OwnerTable table{OwnerTable::Options()};
  cluster::Time now{1'000'000};
};

TEST_CASE("reads of owners take turns between namespaces, however many one has",
          "[kube][grouping]") {
  TurnsWorld world;
  for (int i = 0; i < 10'000; ++i) world.Use("a", "job-" + std::to_string(i));
  CHECK(world.Next(3) == "aaa");
  world.Use("b", "one");
  world.Use("b", "two");
  world.Use("c", "one");
  CHECK(world.Next(6) == "abcaba");
}

TEST_CASE("of one namespace only few owners are read at a time", "[kube][grouping]") {
  TurnsWorld world;
  for (int i = 0; i < 9; ++i) world.Use("a", "job-" + std::to_string(i));
  const auto first = world.table.Take(world.now);
  const auto second = world.table.Take(world.now);
  REQUIRE(first);
  REQUIRE(second);
  CHECK_FALSE(world.table.Take(world.now));
  CHECK(world.table.NextDue() == cluster::Time::Never());
  world.Use("b", "one");
  CHECK(world.Next(2) == "b-");
  world.table.Learn(first->key, {OwnerAnswer::Kind::kFailed, {}, "not now"}, world.now);
  CHECK(world.Next(3) == "aaa");
  // One that is nobody's any more while it is read was read all the same.
  world.table.Forget(cluster::PodUid("a-" + second->key.name));
  world.table.Learn(second->key, {OwnerAnswer::Kind::kGone, {}, {}}, world.now);
  const auto third = world.table.Take(world.now);
  REQUIRE(third);
  CHECK(world.table.Take(world.now));
  CHECK_FALSE(world.table.Take(world.now));
}

TEST_CASE("owners that only ended pods need are read after those of all namespaces",
          "[kube][grouping]") {
  TurnsWorld world;
  for (int i = 0; i < 3; ++i) world.Use("a", "ended-" + std::to_string(i), Need::kEnded);
  for (int i = 0; i < 3; ++i) world.Use("b", "job-" + std::to_string(i));
  CHECK(world.Next(7) == "bbbaaa-");
}

TEST_CASE("an owner that a waiting pod needs, too, does not come last any more",
          "[kube][grouping]") {
  TurnsWorld world;
  world.Use("a", "ended", Need::kEnded);
  world.Use("b", "one");
  world.Use("b", "two");
  world.Use("b", "three");
  CHECK(world.Next(1) == "b");
  world.table.Use(cluster::PodUid("waits"), {{"batch/v1", "Job", "a", "ended", "uid-aended"}},
                  Need::kWaiting, world.rules);
  CHECK(world.Next(4) == "bab-");
}

}  // namespace
}  // namespace muster::kube
