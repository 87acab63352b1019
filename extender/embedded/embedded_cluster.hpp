// EmbeddedCluster: the cluster that `muster serve` runs on when it has no real one. A simulated API
// server, kube-scheduler, kubelets and Job controller on one thread that follows the wall clock.
//
//   watch events ──apply──▶ engine          engine ──Perform──▶ writes ──report──▶ engine
//   kube-scheduler ──ExtenderPort──▶ the extender port, as a real one would
//
// The thread owns everything simulated; others reach it through Do and Post. Owned by serve.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/facts.hpp"
#include "engine/contract/ports.hpp"
#include "extender/embedded/fact_reader.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/api_server/informer.hpp"
#include "sim/calls/api_actions.hpp"
#include "sim/calls/extender_port.hpp"
#include "sim/schedulers/kube_scheduler.hpp"
#include "sim/world/job_controller.hpp"
#include "sim/world/kubelet.hpp"

namespace muster::extender {

class EmbeddedCluster final : public engine::ActionPort {
 public:
  using Task = std::function<void()>;

  struct Options {
    sim::ApiServerOptions api;
    sim::KubeSchedulerOptions scheduler;
    sim::KubeletOptions kubelet;
    // Milliseconds on the clock that the engine is given; never goes back.
    std::function<cluster::Time()> now;
    // Called on the cluster's thread.
    // As Scheduler::Apply: no decision is made between facts that come together.
    std::function<void(std::span<const engine::Fact>)> apply;
    std::function<void(const engine::Outcome&)> report;
    std::optional<kube::GroupingSettings> grouping = {};  // nothing: no gangs by owner
    // Receives what is ignored when objects are joined; empty: nobody is notified.
    std::function<void(const std::string&)> warn = {};
    // Makes the way to the extender; `post` runs a task on the cluster's thread, from any thread.
    std::function<std::unique_ptr<sim::ExtenderPort>(std::function<void(Task)> post)> extender;
  };

  explicit EmbeddedCluster(Options options);
  ~EmbeddedCluster() override;  // Stop()
  EmbeddedCluster(const EmbeddedCluster&) = delete;
  EmbeddedCluster& operator=(const EmbeddedCluster&) = delete;

  void Start();
  // Ends the thread; tasks posted later are dropped and Do returns at once. The extender must
  // answer or refuse the Bind calls that are open, or this waits for them. Idempotent.
  void Stop();

  // From any thread: the writes are made by the cluster's thread, in order.
  void Perform(const std::vector<engine::Action>& actions) override;
  void SetGrouping(const kube::GroupingSettings& settings);
  // Runs `task` on the cluster's thread and waits for it. False when the cluster has stopped and
  // the task will not run.
  bool Do(const std::function<void(sim::ApiServer&)>& task);

 private:
  void Post(Task task);
  void Run();
  bool RunMail();
  void Sleep();

  const Options options_;
  std::thread thread_;

  // Before the parts: Bind calls that end late still post their answers.
  cluster::Mutex mu_;
  cluster::CondVar mail_came_;
  cluster::CondVar mail_done_;
  std::deque<Task> mail_ MUSTER_GUARDED_BY(mu_);
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  bool stopped_ MUSTER_GUARDED_BY(mu_) = false;

  // The simulated parts: built here, then the thread's alone.
  sim::EventLoop loop_;
  sim::ApiServer api_;
  std::unique_ptr<sim::ExtenderPort> extender_;
  std::unique_ptr<sim::KubeScheduler> scheduler_;
  std::unique_ptr<sim::Kubelet> kubelet_;
  std::unique_ptr<sim::JobController> jobs_;
  std::unique_ptr<sim::ApiActions> actions_;
  FactReader facts_;
  std::unique_ptr<sim::Informer> informer_;
};

}  // namespace muster::extender
