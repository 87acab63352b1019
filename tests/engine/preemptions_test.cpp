#include "engine/standing/preemptions.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace muster::engine {
namespace {

using cluster::PodUid;
using cluster::Seconds;
using cluster::Time;

GangId Id(const std::string& name) { return {{"team", name}, false}; }

Victims Of(std::set<PodUid> pods) {
  Victims victims;
  victims.pods = std::move(pods);
  return victims;
}

const PodUid kA("a");
const PodUid kB("b");

TEST_CASE("victims make way for one gang until it waits no more", "[engine][preemptions]") {
  Preemptions preemptions;
  CHECK(preemptions.none());
  CHECK(preemptions.VictimsOf(Id("urgent")) == nullptr);
  preemptions.Begin(Id("urgent"), Of({kA, kB}));
  CHECK(*preemptions.PreemptorOf(kA) == Id("urgent"));
  CHECK_FALSE(preemptions.MustGo(kA));
  preemptions.Ask(Id("urgent"), {kA}, cluster::Time(0));
  CHECK(preemptions.MustGo(kA));
  CHECK_FALSE(preemptions.MustGo(kB));
  CHECK(preemptions.Audit().empty());
  preemptions.Forget(kA);  // it is gone
  CHECK(preemptions.VictimsOf(Id("urgent"))->pods.size() == 2);
  CHECK(preemptions.End(Id("urgent")) == std::vector{kB});
  CHECK(preemptions.none());
  CHECK(preemptions.End(Id("urgent")).empty());
}

TEST_CASE("the first eviction is reported once", "[engine][preemptions]") {
  Preemptions preemptions;
  CHECK_FALSE(preemptions.Evicted(Id("urgent")));
  preemptions.Begin(Id("urgent"), Of({kA, kB}));
  CHECK(preemptions.Evicted(Id("urgent")));
  CHECK_FALSE(preemptions.Evicted(Id("urgent")));
  CHECK(preemptions.VictimsOf(Id("urgent"))->begun);
}

TEST_CASE("a victim that is not what it was when it was chosen is reported",
          "[engine][preemptions]") {
  Preemptions preemptions;
  preemptions.Begin(Id("urgent"), Of({kA}));
  preemptions.Lose(kB);
  CHECK_FALSE(preemptions.VictimsOf(Id("urgent"))->lost);
  preemptions.Lose(kA);
  CHECK(preemptions.VictimsOf(Id("urgent"))->lost);
  CHECK(preemptions.PreemptorOf(kA) == nullptr);
}

TEST_CASE("of the refusals the first is kept, but one that is for good takes its place",
          "[engine][preemptions]") {
  Preemptions preemptions;
  preemptions.Begin(Id("urgent"), Of({kA, kB}));
  preemptions.Refused(Id("urgent"), "timeout", false);
  preemptions.Refused(Id("urgent"), "another timeout", false);
  CHECK(preemptions.VictimsOf(Id("urgent"))->obstacle == "timeout");
  preemptions.Refused(Id("urgent"), "a budget", true);
  CHECK(preemptions.VictimsOf(Id("urgent"))->obstacle == "a budget");
}

TEST_CASE("the next try in vain comes after twice the time", "[engine][preemptions]") {
  Preemptions preemptions;
  const GangId id = Id("urgent");
  const auto pause = [&] {
    preemptions.CountTry(id, Seconds(600), Time(0));
    return *preemptions.TriesOf(id).until - Time(0);
  };
  CHECK(pause() == Seconds(600));
  CHECK(pause() == Seconds(1'200));
  preemptions.UncountTry(id);  // nobody was evicted
  CHECK_FALSE(preemptions.TriesOf(id).until);
  CHECK(preemptions.TriesOf(id).in_vain == 1);
  CHECK(pause() == Seconds(1'200));
  preemptions.Pass(id, Time(1'199'999));
  CHECK(preemptions.TriesOf(id).until);
  preemptions.Pass(id, Time(1'200'000));
  CHECK_FALSE(preemptions.TriesOf(id).until);
  for (int i = 0; i < 20; ++i) pause();
  CHECK(pause() == Seconds(86'400));
  preemptions.ForgetTries(id);
  CHECK(pause() == Seconds(600));
}

TEST_CASE("pods that stay are released one by one, or all when a budget changes",
          "[engine][preemptions]") {
  Preemptions preemptions;
  CHECK_FALSE(preemptions.ReleaseAll());
  preemptions.Protect(kA, {Time(100)});
  preemptions.Protect(kB, {Time(200)});
  REQUIRE(preemptions.ProtectionOf(kA) != nullptr);
  CHECK(preemptions.ProtectionOf(kA)->until == Time(100));
  preemptions.Release(kA);
  CHECK(preemptions.ProtectionOf(kA) == nullptr);
  CHECK(preemptions.ReleaseAll());
  CHECK(preemptions.ProtectionOf(kB) == nullptr);
}

}  // namespace
}  // namespace muster::engine
