// Harness: an engine::Scheduler with an API server of a few lines behind it. Actions take effect at
// once (or as the test says), every change comes back as a fact, and time moves only when the test
// moves it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/scheduler.hpp"
#include "tests/support/builders.hpp"

namespace muster::testing {

class Harness {
 public:
  explicit Harness(engine::Options options = {}, engine::Rules rules = {});

  // Objects, as the API server has them.
  void Add(const cluster::Node& node);
  void RemoveNode(const std::string& name);
  void Add(cluster::Pod pod);
  void Change(const std::string& name, const std::function<void(cluster::Pod&)>& change);
  void RemovePod(const std::string& name);
  void Succeed(const std::string& name);
  // The object goes while the engine is away: it is never told.
  void LosePod(const std::string& name);
  // As Change, while the engine is away.
  void ChangeUnseen(const std::string& name, const std::function<void(cluster::Pod&)>& change) {
    change(pods_.at(name));
  }
  void Add(const cluster::PodGroup& group);
  void RemoveGroup(const std::string& name);
  // As the API server has it, its record included.
  void ChangeGroup(const std::string& name, const std::function<void(cluster::PodGroup&)>& change);
  // `count` gated pods "GROUP-0" … of `gpus` GPUs in PodGroup GROUP with minMember `min`.
  void AddGang(const std::string& group, int count, int gpus, int min);

  // ProvisioningRequests, as the API server has them.
  const std::map<std::string, cluster::ProvisioningRequest>& Requests() const { return requests_; }
  void ChangeRequest(const std::string& name,
                     const std::function<void(cluster::ProvisioningRequest&)>& change);
  void RemoveRequest(const std::string& name);
  void Add(const cluster::ProvisioningRequest& request);

  // Advances, carries actions out and reports back until nothing is left to do.
  void Settle();
  void Pass(cluster::Duration duration);
  cluster::Time now() const { return now_; }

  // kube-scheduler's calls. Filter with all nodes, or with those named.
  engine::FilterAnswer Filter(const std::string& pod);
  engine::FilterAnswer Filter(const std::string& pod, const std::vector<std::string>& nodes);
  // Bind to the planned node (or `node`); the answer is in bind_answers once given: empty text is
  // success.
  uint64_t Bind(const std::string& pod, const std::string& node = "");
  // Filter and Bind for every pod of the gang that may be scheduled.
  void ScheduleAll(const std::string& group);

  engine::GangView Gang(const std::string& name) const;
  const cluster::Pod& Pod(const std::string& name) const { return pods_.at(name); }
  int BoundIn(const std::string& group) const;
  int Evictions() const;  // asked for so far

  engine::Scheduler& engine() { return *engine_; }
  const engine::Scheduler& engine() const { return *engine_; }
  // A new engine that learns everything from the objects.
  // `away`: nobody is there for so long.
  void Restart(cluster::Duration away = {});

  std::map<uint64_t, std::string> bind_answers;  // by ticket
  std::vector<engine::Action> log;               // every action, in order
  std::vector<engine::GangWaits> waits;          // for the log, in order
  // What becomes of an action; nothing: it succeeds.
  std::function<std::optional<engine::Outcome>(const engine::Action&)> fault;
  int writes = 0;
  bool late_news = false;  // the engine sees a pod it wrote only after its next look

 private:
  void Perform(const engine::Action& action);
  void Tell(const std::string& pod);
  void Make(const engine::AskForNodes& ask);
  void Withdraw(const engine::WithdrawAsk& withdraw);
  template <typename A>
  bool Faulty(const A& action);

  engine::Options options_;
  engine::Rules rules_;
  std::unique_ptr<engine::Scheduler> engine_;
  cluster::Time now_{1'800'000'000'000};
  std::map<std::string, cluster::Node> nodes_;
  std::map<std::string, cluster::Pod> pods_;  // by name
  std::map<std::string, cluster::PodGroup> groups_;
  std::map<std::string, cluster::ProvisioningRequest> requests_;
  std::vector<std::string> untold_;  // pods
  int64_t version_ = 1;
  uint64_t ticket_ = 1;
};

// A fault: a budget keeps `who` from being evicted, and all others with it.
std::function<std::optional<engine::Outcome>(const engine::Action&)> KeptByBudget(std::string who);

}  // namespace muster::testing
