// A kind of sharing that only this test knows: cards cut into fixed slots, a share rounded up to
// whole ones. What it takes to bring one along.
#include <catch2/catch.hpp>

#include "cluster/amounts/sharing.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using cluster::DeviceAmount;
using cluster::GpuMilli;
using cluster::GpuRequest;

class Slots final : public cluster::SharingModel {
 public:
  std::string_view name() const override { return "slots"; }
  DeviceAmount ShareOn(const cluster::DeviceSize& device,
                       const GpuRequest& request) const override {
    if (request.whole()) return DeviceAmount::All();
    const int64_t slot = 1000 / device.replicas;
    return GpuMilli((request.each.most().value() + slot - 1) / slot * slot);
  }
  bool counted() const override { return false; }
};
const Slots kSlots;

TEST_CASE("a kind of sharing plugs in as a model", "[policy][sharing]") {
  testing::World world;
  world.Add(testing::MakeNode("n").Gpus(2).Sharing(cluster::GpuSharing(kSlots), 4));
  // The ledger: 300 are two slots of four. The pod says nothing, so the lowest device is assumed.
  world.Occupy("n", testing::MakePod("x").GpuShare(300));
  const auto snapshot = world.state.TakeSnapshot();
  CHECK(testing::Milli(snapshot->free().gpus(world.Index("n"))) == std::vector<int>{500, 1000});
  CHECK(world.state.Dump().find("sharing=\"slots\"") != std::string::npos);
  // Placement: two slots each, of six that are left.
  Placer placer(Options{Strategy::kBinpack});
  const auto ask = [&](int pods) { return world.Ask(pods, testing::MakePod("p").GpuShare(260)); };
  CHECK_FALSE(world.Place(placer, ask(4)).placed);
  const PlaceAnswer answer = world.PlaceAndHold(placer, ask(3));
  CHECK(world.Where(answer) == std::vector<std::string>{"n:0", "n:1", "n:1"});
  CHECK_FALSE(world.Place(placer, world.Ask(1, testing::MakePod("p").GpuShare(1))).placed);
}

}  // namespace
}  // namespace muster::policy
