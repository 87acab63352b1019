// A gang that runs, for tests of what it may lose.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {

// A gang of three on four nodes, running. All pods are of one Job.
struct Trio : Harness {
  explicit Trio(engine::Options options = {}) : Harness(options) {
    for (int i = 0; i < 4; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    Add(MakePodGroup("train").MinMember(3).CreatedAt(1000));
    for (int i = 0; i < 3; ++i) AddMember("train-" + std::to_string(i));
    ScheduleAll("train");
    REQUIRE(Gang("train").state == engine::GangState::kRunning);
  }
  void AddMember(const std::string& name, const std::string& owner = "job") {
    Add(MakePod(name).Gpus(8).InGroup("train").Owner(owner).Gated());
  }
  void Collect(const std::string& name) {
    Succeed(name);
    Settle();
    RemovePod(name);
    Settle();
  }
};

// A gang of three, a, b and c, whose pods declare its size: there is no object. Running.
struct DeclaredTrio : Harness {
  DeclaredTrio() {
    for (int i = 0; i < 3; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    cluster::PodGroup group = MakePodGroup("train").MinMember(3);
    group.declared = true;
    Add(group);
    for (const char* name : {"a", "b", "c"}) AddMember(name);
    ScheduleAll("train");
    REQUIRE(Gang("train").state == engine::GangState::kRunning);
  }
  void AddMember(const std::string& name, int gpus = 8) {
    Add(MakePod(name).Gpus(gpus).InGroup("train").Owner("job").Gated());
  }
};

}  // namespace muster::testing
