// LostRacks: a Harness with three racks, one gang whose members the test loses, and others that
// take room.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::testing {

inline engine::Options Saying(engine::LostMember lost_member) {
  engine::Options options = WithFabric();
  options.lost_member = lost_member;
  return options;
}

// Racks a0, a1 and a2 of block a, of two nodes of four GPUs each.
struct LostRacks : Harness {
  explicit LostRacks(engine::LostMember lost_member) : LostRacks(Saying(lost_member)) {}
  explicit LostRacks(engine::Options options) : Harness(std::move(options)) {
    for (const std::string rack : {"a0", "a1", "a2"}) {
      for (const std::string node : {"x", "y"}) AddNode(rack + node);
    }
  }
  void AddNode(const std::string& name) {
    Add(MakeNode(name).Gpus(4).Label("block", "a").Label("rack", name.substr(0, 2)));
  }
  void Fill(const std::string& node) {
    Add(MakePod("other-" + node).Gpus(4).Scheduler("other").BoundTo(node, {0, 1, 2, 3}));
  }
  // `count` pods of a node each.
  void Run(int count, const cluster::TopologyTerms& terms) {
    AddGang("train", count, 4, count);
    ChangeGroup("train", [&](cluster::PodGroup& group) { group.topology = terms; });
    ScheduleAll("train");
    REQUIRE(Gang("train").state == engine::GangState::kRunning);
  }
  void Again(const std::string& pod) {
    RemovePod(pod);
    Add(MakePod(pod).Uid(pod + "-" + std::to_string(++made_)).Gpus(4).InGroup("train").Gated());
  }
  // Its node is gone, and another pod comes in its place.
  void LoseWithNode(const std::string& pod) {
    RemoveNode(Pod(pod).node_name);
    Again(pod);
    Settle();
  }
  // Its node stops working, so that the pod stays Terminating for ever, and another pod comes.
  void LoseOnDeadNode(const std::string& pod) {
    const std::string node = Pod(pod).node_name;
    Add(MakeNode(node).Gpus(4).Label("block", "a").Label("rack", node.substr(0, 2)).NotReady());
    Change(pod, [](cluster::Pod& lost) { lost.deleting = true; });
    Add(MakePod(pod + "b").Gpus(4).InGroup("train").Gated());
    Settle();
  }
  std::vector<std::string> Leaving(int count) const {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      const std::string name = "train-" + std::to_string(i);
      if (Pod(name).deleting) names.push_back(name);
    }
    return names;
  }
  std::string RackOf(const std::string& pod) const { return Pod(pod).node_name.substr(0, 2); }
  int Told(const std::string& reason) const {
    return static_cast<int>(std::count_if(log.begin(), log.end(), [&](const auto& action) {
      const auto* event = std::get_if<engine::EmitEvent>(&action);
      return event != nullptr && event->reason == reason;
    }));
  }

 private:
  int made_ = 0;
};

inline cluster::TopologyTerms OneRack() { return {"rack", ""}; }

inline cluster::TopologyTerms SegmentsOfTwo() {
  cluster::TopologyTerms terms{"block", ""};
  terms.segments.push_back({"rack", 2, true});
  return terms;
}

}  // namespace muster::testing
