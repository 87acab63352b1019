// ApiActions: carries out the engine's actions against the simulated API server, late and with
// failures if asked to.
//
// Owned by MusterLink; one thread at a time (the loop's).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/contract/ports.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/api_server/random.hpp"

namespace muster::sim {

// What happens to writes on their way to the API server and back.
struct WriteFaults {
  cluster::Duration latency{};    // every write takes that long
  cluster::Duration jitter{};     // plus up to this, seeded
  int64_t lost_per_mille = 0;     // not carried out, reported kRetry; statuses go again
  int64_t unclear_per_mille = 0;  // carried out, reported kRetry all the same
  bool refuse_binds = false;      // an admission webhook says no to every Binding: kRefused
  bool refuse_deletes = false;    // of pods whose budgets do not let them go
  bool refuse_all = false;        // Muster may write nothing: kRefused
};
inline bool IsLossy(const WriteFaults& faults) {
  return faults.lost_per_mille + faults.unclear_per_mille > 0;
}

class ApiActions final : public engine::ActionPort {
 public:
  using Report = std::function<void(const engine::Outcome&)>;

  ApiActions(EventLoop& loop, ApiServer& api, WriteFaults faults, uint64_t seed, Report report);
  ~ApiActions() override;
  ApiActions(const ApiActions&) = delete;
  ApiActions& operator=(const ApiActions&) = delete;

  // AnswerBind is none of its business and ignored.
  void Perform(const std::vector<engine::Action>& actions) override;
  // The process that asked is gone: of the writes on their way each one either has reached the API
  // server, and happens now, or never will (seeded). No outcome of them is reported.
  void Disown();
  void SetFaults(WriteFaults faults) { faults_ = faults; }

  // One write, at once and without faults.
  engine::OutcomeKind CarryOut(const engine::Action& action, std::string& message);

 private:
  // Evictions that are not carried out, because a budget forbids one of those for the same gang.
  std::set<engine::ActionId> Spare(const std::vector<engine::Action>& actions);
  void Do(const engine::Action& action);
  // After `wait` and what is under way for the same object.
  void Later(const engine::Action& action, cluster::Duration wait);
  void Arrive(uint64_t number);

  EventLoop& loop_;
  ApiServer& api_;
  WriteFaults faults_;
  Random random_;
  Report report_;
  std::unordered_map<std::string, cluster::Time> busy_;  // until when writes to this object travel
  uint64_t next_number_ = 0;
  std::map<uint64_t, engine::Action> travelling_;
};

}  // namespace muster::sim
