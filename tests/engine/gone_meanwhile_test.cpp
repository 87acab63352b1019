// Facts that come while a plan is made, outside the engine's lock.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/engine/booking_world.hpp"
#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

// Calls back while the first plan is made, and wishes nothing.
class CallsBack final : public policy::Wish {
 public:
  explicit CallsBack(std::shared_ptr<std::function<void()>> call) : call_(std::move(call)) {}
  std::string Key() const override { return "anywhere"; }
  policy::WishedDomains Domains(const policy::Surroundings& around) const override {
    if (auto call = std::exchange(*call_, nullptr)) call();
    cluster::NodeSet all;
    for (cluster::NodeIndex node{0}; node.value < around.nodes.size(); ++node.value) all.Add(node);
    policy::WishedDomains wished;
    wished.domains.push_back({std::make_shared<const cluster::NodeSet>(std::move(all)), "all"});
    return wished;
  }

 private:
  std::shared_ptr<std::function<void()>> call_;
};

class CallsBackForAll final : public policy::Wishes {
 public:
  std::shared_ptr<const policy::Wish> Of(const cluster::PodGroup*,
                                         const cluster::Pod&) const override {
    return std::make_shared<const CallsBack>(call);
  }
  std::shared_ptr<std::function<void()>> call = std::make_shared<std::function<void()>>();
};

TEST_CASE("a gang that waits may lose all of its pods while another one is planned",
          "[engine][meanwhile]") {
  const bool group_too = GENERATE(true, false);
  const bool large = GENERATE(true, false);  // there is no room for the first one
  CAPTURE(group_too, large);
  const auto wishes = std::make_shared<CallsBackForAll>();
  Rules rules;
  rules.wishes = wishes;
  testing::Harness world({}, std::move(rules));
  world.Add(testing::MakeNode("n0").Gpus(4).Build());
  *wishes->call = [&] {
    for (const char* pod : {"second-0", "second-1"}) world.RemovePod(pod);
    if (group_too) world.RemoveGroup("second");
    CHECK(world.engine().Audit(world.now()).empty());
  };
  world.AddGang("first", 2, large ? 4 : 1, 2);
  world.AddGang("second", 2, 1, 2);
  world.AddGang("third", 1, 1, 1);
  world.Settle();
  CHECK(*wishes->call == nullptr);
  CHECK(world.Gang("first").state == (large ? GangState::kUnsatisfiable : GangState::kReserved));
  CHECK(world.Gang("third").state == GangState::kReserved);
  if (!group_too) CHECK(world.Gang("second").state == GangState::kForming);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a gang with a booking may lose its pod while another one is planned",
          "[engine][meanwhile]") {
  const auto wishes = std::make_shared<CallsBackForAll>();
  Rules rules;
  rules.wishes = wishes;
  testing::BookingWorld world(testing::WithQueues({queues::QueueSpec{.name = "root"}}), rules);
  world.Add(testing::MakeNode("n0").Gpus(8).Build());
  world.Add(testing::MakeNode("n1").Gpus(1).Build());
  world.Ask("runs", 6, 3'600);
  world.Run(cluster::Seconds(1));
  world.Ask("big", 8, 3'600);
  world.Run(cluster::Seconds(300));
  REQUIRE(world.Gang("big").expected);
  world.Run(cluster::Seconds(10));
  // What it has booked is not there any more either: room for it would be looked for again.
  *wishes->call = [&] {
    world.RemovePod("big");
    world.RemoveNode("n0");
  };
  world.Ask("short", 1, 60);
  world.Settle();
  CHECK(*wishes->call == nullptr);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("GPUs may be reclaimed before Muster has looked at a gang that lost all of its pods",
          "[engine][meanwhile]") {
  testing::QueueWorld world({testing::Queue("x", 0), testing::Queue("y", 0)});
  world.SubmitGang("train", "y", 4, 4);
  world.ScheduleAll("train");
  world.Start("other", "y", 4);
  for (int i = 0; i < 4; ++i) world.RemovePod("train-" + std::to_string(i));
  const auto effect = world.engine().Carry({"ann", ReclaimGpus{"y", 4}}, world.now());
  REQUIRE(effect.ok());
  world.Settle();
  CHECK(world.Evicted() == "other");
  CHECK(world.engine().Audit(world.now()).empty());
}

}  // namespace
}  // namespace muster::engine
