// What it takes to add a rule for victims: one class, given to the Scheduler.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <tuple>

#include "tests/engine/preemption_world.hpp"

namespace muster::engine {
namespace {

using testing::MakePod;

// A queue takes from other queues, whatever the priorities, the gang that started first.
class FromOtherQueues final : public policy::VictimRule {
 public:
  bool MayEvict(const policy::Preemptor& preemptor, const policy::Holder& holder) const override {
    return preemptor.queue != holder.queue;
  }
  bool Before(const policy::Loss& a, const policy::Loss& b) const override {
    return std::tie(a.holder.start, a.holder.gang, a.step) <
           std::tie(b.holder.start, b.holder.gang, b.step);
  }
  std::optional<int64_t> Below(const policy::Preemptor&) const override { return std::nullopt; }
  std::optional<int64_t> Above(const policy::Holder&) const override { return std::nullopt; }
  std::string Words() const override { return "of another queue"; }
};

TEST_CASE("another rule for victims is one class: the search, the checks and the words follow it",
          "[engine][plug-in]") {
  Options options;
  options.preemption = Preemption::kLowerPriority;
  Rules rules;
  rules.victims = std::make_shared<const FromOtherQueues>();
  testing::Harness world(options, rules);
  world.Add(testing::MakeNode("n0").Gpus(2).Build());
  for (const char* name : {"lent", "own"}) {
    world.Add(MakePod(name).Gpus(1).Priority(9).Queue(name).Gated().Build());
    world.Settle();
    world.Bind(name);
    world.Settle();
    world.Pass(cluster::Seconds(1));
  }
  world.Add(MakePod("next").Gpus(1).Priority(1).Queue("own").Gated().Build());
  world.Pass(cluster::Seconds(5));
  CHECK(world.Evictions() == 1);
  world.RemovePod("lent");
  world.Settle();
  CHECK(world.Gang("own").state == GangState::kRunning);
  CHECK(world.Gang("next").state == GangState::kReserved);
  CHECK(world.engine().Audit(world.now()).empty());
  const bool told = std::any_of(world.log.begin(), world.log.end(), [](const Action& action) {
    const auto* event = std::get_if<EmitEvent>(&action);
    return event != nullptr && event->message.find("of another queue") != std::string::npos;
  });
  CHECK(told);
}

}  // namespace
}  // namespace muster::engine
