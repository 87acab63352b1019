// A gang that is stuck for a night, and what people find when they look at three in the morning.
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/scheduler.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

constexpr int64_t kMinute = 60;
constexpr int64_t kHours = 10;

// Two nodes of 8 GPUs, one of them held by a gang, and a gang "stuck" that wants both. Pods come
// and go on the other node, so that the numbers of free GPUs change all night.
struct Night {
  explicit Night(uint64_t seed) : cluster(Awake(seed)) {
    cluster.AddNodes("node", 2, MakeNode("node").Gpus(8).Build());
    GangSpec{"runs", 1, 8, {}, 0}.CreateAll(cluster.api());
    cluster.loop().RunUntil(At(30));
    REQUIRE(BoundPods(cluster.api(), "runs") == 1);
    GangSpec{"stuck", 2, 8, {}, 0}.CreateAll(cluster.api());
    cluster.loop().RunUntil(At(kMinute));
  }
  static Options Awake(uint64_t seed) {
    Options options;
    options.seed = seed;
    options.audit = true;
    options.api.gating = Gating::kAll;
    options.muster.rules = {};
    return options;
  }
  // Until that minute; a pod of 1 to 7 GPUs runs for half a minute.
  void Pass(int64_t minute) {
    const std::string name = "passer-" + std::to_string(minute);
    Create(cluster.api(), MakePod(name).Gpus(static_cast<int>(1 + minute % 7)).Scheduler("muster"),
           Seconds(30));
    cluster.loop().RunUntil(At(minute * kMinute));
    const int64_t version = cluster.api().FindPodGroup(Key("stuck"))->group.resource_version;
    if (version != std::exchange(version_, version)) ++statuses_;
    for (const char* pod : {"stuck-0", "stuck-1"}) {
      const int64_t seen = cluster.api().FindPod(Key(pod))->pod.resource_version;
      if (seen != std::exchange(members_[pod], seen)) ++member_writes;
    }
  }
  // Of the gang "stuck" so far: its status, and Events on it.
  int64_t StatusAndEvents() {
    int64_t writes = statuses_;
    for (const EventRecord& event : cluster.api().Events()) {
      if (event.uid == Uid()) writes += event.count;
    }
    return writes;
  }
  std::string Uid() {
    return std::string(cluster.api().FindPodGroup(Key("stuck"))->group.uid.text());
  }
  // What `kubectl describe podgroup stuck` has in its Events.
  std::string EventOfGang() {
    std::string text;
    for (const EventRecord& event : cluster.api().LivingEvents()) {
      if (event.uid == Uid()) text = event.reason + ": " + event.message;
    }
    return text;
  }
  Cluster cluster;
  int64_t member_writes = 0;

 private:
  int64_t version_ = 0;
  int64_t statuses_ = 0;
  std::map<std::string, int64_t> members_;
};

TEST_CASE("a gang that is stuck for a night says why at any moment, for two writes an hour",
          "[cluster][waiting]") {
  Night night(GENERATE(1U, 2U));
  for (int64_t minute = 2; minute <= 10; ++minute) night.Pass(minute);
  std::deque<int64_t> hour = {night.StatusAndEvents()};  // minute by minute
  const int64_t told = night.member_writes;
  for (int64_t minute = 11; minute <= kHours * 60; ++minute) {
    night.Pass(minute);
    INFO("minute " << minute);
    const ApiServer& api = night.cluster.api();
    CHECK_THAT(night.EventOfGang(), Catch::StartsWith("GangQueued: not enough free GPUs: ") &&
                                        Catch::Contains("; it would start if "));
    CHECK(api.FindPodGroup(Key("stuck"))->reason == "NotEnoughGpus");
    for (const char* pod : {"stuck-0", "stuck-1"})
      CHECK_THAT(api.FindPod(Key(pod))->status_message,
                 Catch::StartsWith("muster: gang default/stuck waits: NotEnoughGpus: "));
    hour.push_back(night.StatusAndEvents());
    if (hour.size() > 60) hour.pop_front();
    CHECK(hour.back() - hour.front() <= 2);
  }
  CHECK(night.StatusAndEvents() >= 2 * kHours);
  // The members' messages stay by themselves.
  CHECK(night.member_writes == told);
  CHECK(night.cluster.auditor()->findings() == std::vector<std::string>{});
}

TEST_CASE("restarted in the night, muster says it once more, and goes on at the same pace",
          "[cluster][waiting][restart]") {
  Night night(1);
  int64_t minute = 2;
  for (; minute <= 100; ++minute) night.Pass(minute);
  const int64_t before = night.StatusAndEvents();
  night.cluster.muster()->Restart();
  for (; minute <= 160; ++minute) night.Pass(minute);
  CHECK(night.StatusAndEvents() - before <= 2 + 2);
  CHECK_FALSE(night.EventOfGang().empty());
}

TEST_CASE("a gang that starts in the morning has no message left", "[cluster][waiting]") {
  Night night(1);
  Cluster& cluster = night.cluster;
  cluster.loop().RunUntil(At(100 * kMinute));
  REQUIRE_FALSE(cluster.api().FindPod(Key("stuck-0"))->status_message.empty());
  const PodPtr holder = cluster.api().FindPod(Key("runs-0"));
  REQUIRE(cluster.api().DeletePod(Actor::kUser, {holder->pod.key, holder->pod.uid}).ok());
  cluster.loop().RunUntil(At(110 * kMinute));
  REQUIRE(BoundPods(cluster.api(), "stuck") == 2);
  CHECK(cluster.api().FindPod(Key("stuck-0"))->status_message.empty());
}

}  // namespace
}  // namespace muster::sim::testing
