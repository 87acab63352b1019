// What it takes to add a placement wish: a Wish, and who has it.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using cluster::NodeIndex;
using cluster::NodeSet;

// All members in one rack, by the node label "rack"; beside members that are there, in theirs.
class OneRack final : public policy::Wish {
 public:
  std::string Key() const override { return "rack"; }
  policy::WishedDomains Domains(const policy::Surroundings& around) const override {
    std::map<std::string, NodeSet> racks;
    for (NodeIndex node{0}; node.value < around.nodes.size(); ++node.value) {
      const cluster::Node* record = around.nodes.node(node);
      if (record != nullptr) racks[record->labels.at("rack")].Add(node);
    }
    policy::WishedDomains wished;
    for (const auto& [name, rack] : racks) {
      if (around.beside.empty() || rack.Contains(around.beside.front()))
        wished.domains.push_back({std::make_shared<const NodeSet>(rack), name});
    }
    return wished;
  }
};

class Everybody final : public policy::Wishes {
 public:
  std::shared_ptr<const policy::Wish> Of(const cluster::PodGroup*,
                                         const cluster::Pod&) const override {
    return std::make_shared<const OneRack>();
  }
};

// PlugInWishRacks "a" and "b" of two nodes of four GPUs each; one GPU of "a" is taken.
struct PlugInWishRacks : testing::Harness {
  explicit PlugInWishRacks(Rules rules) : Harness({}, std::move(rules)) {
    for (const char* name : {"a0", "a1", "b0", "b1"}) {
      Add(testing::MakeNode(name).Gpus(4).Label("rack", std::string(1, name[0])));
    }
    Add(testing::MakePod("other").Gpus(1).Scheduler("other").BoundTo("a0"));
    AddGang("train", 3, 2, 2);  // two are required, one is elastic
    Settle();
  }
  std::string RacksOf(const std::string& gang) {
    std::string racks;
    for (const MemberView& member : Gang(gang).members) racks += member.planned_node.substr(0, 1);
    return racks;
  }
};

TEST_CASE("another wish is two small classes: the whole gang is placed within a domain",
          "[engine][plug-in]") {
  Rules rules;
  rules.wishes = std::make_shared<const Everybody>();
  PlugInWishRacks world(rules);
  CHECK(world.RacksOf("train") == "aaa");
  world.AddGang("wide", 4, 2, 4);  // room is for it in "b" alone
  world.Settle();
  CHECK(world.RacksOf("wide") == "bbbb");
  world.AddGang("next", 2, 1, 2);  // no rack has two left
  world.Settle();
  CHECK(world.Gang("next").state == GangState::kQueued);
  CHECK(world.Gang("next").reason.code == ReasonCode::kNotEnoughGpus);
}

}  // namespace
}  // namespace muster::engine
