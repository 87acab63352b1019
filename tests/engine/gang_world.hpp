// GangWorld: the owners of the engine's state with one gang in them, and no cycle: each step is the
// test's own.
#pragma once

#include <string>
#include <vector>

#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/intake.hpp"
#include "engine/judging/judge.hpp"
#include "engine/judging/settle_members.hpp"
#include "tests/support/builders.hpp"

namespace muster::testing {

struct GangWorld {
  explicit GangWorld(int64_t min_member, engine::Options options = {}) : state(std::move(options)) {
    Tell(MakePodGroup("train").MinMember(min_member).Build());
  }

  void Tell(const engine::Fact& fact) { engine::Apply(state, fact, now); }
  void AddPod(const std::string& name) {
    Tell(MakePod(name).Gpus(1).InGroup("train").Gated().Build());
  }
  void Bind(const std::string& name, const std::string& node) {
    Tell(MakePod(name).Gpus(1).InGroup("train").BoundTo(node).Build());
  }
  engine::Gang& gang() { return *state.members.Find(engine::GangId{{"default", "train"}, false}); }
  engine::Member& member(const std::string& name) {
    return *state.members.Find(state.cluster.FindPod(cluster::ObjectKey{"default", name})->uid)
                .member;
  }
  // A reservation of one GPU on the node for each of them.
  void Plan(const std::vector<std::string>& names, const std::string& node,
            cluster::Time deadline = cluster::Time::Never()) {
    std::vector<engine::Member*> planned;
    for (const std::string& name : names) {
      engine::Member& one = member(name);
      const cluster::NodeIndex index = state.cluster.IndexOf(node);
      const auto gpu = static_cast<uint16_t>(state.cluster.HoldersOn(index).size());
      cluster::Placement placement;
      placement.pod = one.uid;
      placement.node = index;
      placement.requests = one.pod->spec->requests;
      placement.gpus = {{cluster::GpuIndex{gpu}, cluster::kWholeGpu}};
      const cluster::Status reserved = state.cluster.Reserve({placement});
      if (!reserved.ok()) throw std::runtime_error(reserved.error().ToString());
      state.reservations.Set(one, placement, true, false);
      planned.push_back(&one);
    }
    state.reservations.Adopt(gang(), planned, now, deadline);
    Count();
  }
  void Count() {
    engine::SettleMembers(state, gang());
    engine::Remember(state, gang(), now);
  }
  // Surroundings in which nothing is in the gang's way.
  engine::Surroundings Around() {
    engine::Surroundings around{state.options, now};
    around.group = state.members.GroupOf(gang());
    around.reservation_timeout = state.options.reservation_timeout;
    return around;
  }
  engine::Verdict Judge(engine::Stage from = engine::Stage::kHeldCalls) {
    Count();
    return engine::Judge(gang(), Around(), from);
  }

  cluster::Time now{1'800'000'000'000};
  engine::EngineState state;
};

}  // namespace muster::testing
