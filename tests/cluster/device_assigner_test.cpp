// Which devices a bound pod is assumed to have is the DeviceAssigner's word, and the ledger's
// books.
#include "cluster/holdings/device_assigner.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;
using Positions = std::vector<size_t>;

// Answers as the test says.
class Says final : public DeviceAssigner {
 public:
  using Answer = std::function<Positions(const DeviceQuestion&)>;
  explicit Says(Answer answer) : answer_(std::move(answer)) {}
  Positions Choose(const DeviceQuestion& question) const override { return answer_(question); }

 private:
  Answer answer_;
};

struct World {
  explicit World(Says::Answer answer) : state(std::make_shared<const Says>(std::move(answer))) {
    state.Upsert(MakeNode("n").Gpus(4));
  }
  std::vector<int> Held(const std::string& pod) const {
    const Allocation* held = state.AllocationOf(PodUid("pod-" + pod));
    std::vector<int> devices;
    for (const GpuShare& share : held->placement.gpus) devices.push_back(share.index.value);
    if (!held->devices_known) devices.push_back(-1);
    return devices;
  }
  ClusterState state;
};

TEST_CASE("a pod that says nothing has the devices that the assigner names",
          "[cluster][assigner]") {
  World world([](const DeviceQuestion& question) {
    CHECK(question.missing == 2);
    CHECK(testing::Milli(question.free) == std::vector<int>{1000, 1000, 0, 1000});
    CHECK(question.known.empty());
    return Positions{3, 0};
  });
  world.state.Upsert(MakePod("listed").Gpus(1).BoundTo("n", {2}));
  world.state.Upsert(MakePod("p").Gpus(2).BoundTo("n"));
  CHECK(world.Held("listed") == std::vector<int>{2});
  CHECK(world.Held("p") == std::vector<int>{0, 3});
}

TEST_CASE("of a pod that keeps a part of its list the rest is asked for", "[cluster][assigner]") {
  World world([](const DeviceQuestion& question) {
    REQUIRE(question.known.size() == 1);
    CHECK(question.known[0].index.value == 1);
    CHECK(question.missing == 1);
    return Positions{3};
  });
  world.state.Upsert(MakePod("p").Gpus(2).BoundTo("n", {1, 9}));
  CHECK(world.Held("p") == std::vector<int>{1, 3});
}

TEST_CASE("what the assigner names and is not to be had is not known", "[cluster][assigner]") {
  struct Case {
    const char* name;
    Positions answer;
    std::vector<int> want;
  };
  const auto c = GENERATE(values<Case>({
      {"nothing", {}, {-1}},
      {"too few", {1}, {1, -1}},
      {"one twice", {1, 1}, {1, -1}},
      {"one that another pod has", {2, 0}, {0, -1}},
      {"one that is not there", {7, 3}, {3, -1}},
      {"too many", {0, 1, 3}, {0, 1}},
  }));
  DYNAMIC_SECTION(c.name) {
    World world([&](const DeviceQuestion&) { return c.answer; });
    world.state.Upsert(MakePod("listed").Gpus(1).BoundTo("n", {2}));
    world.state.Upsert(MakePod("p").Gpus(2).BoundTo("n"));
    CHECK(world.Held("p") == c.want);
  }
}

}  // namespace
}  // namespace muster::cluster
