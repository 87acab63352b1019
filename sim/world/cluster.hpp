// Cluster: the embedded cluster. API server, kube-scheduler, kubelets, Job controller, and Muster
// between them, on one event loop.
//
//   sim::Options options;
//   sim::Cluster cluster(options);
//   cluster.AddNodes("node", 16, sim::GpuNode(8));
//   cluster.api().CreatePodGroup(…); cluster.api().CreatePod(…);
//   cluster.loop().RunUntilIdle(Time::Never());
//   cluster.api().decisions().ToString();
//
// One thread at a time. The same calls and options give the same decisions, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/audit/auditor.hpp"
#include "sim/calls/extender_port.hpp"
#include "sim/calls/muster_link.hpp"
#include "sim/schedulers/kube_scheduler.hpp"
#include "sim/world/job_controller.hpp"
#include "sim/world/kubelet.hpp"

namespace muster::sim {

// What a share of a GPU is where Muster does not give it out. kube-scheduler alone can share none.
//   kStock  the stock device plugin: a pod that wants a share has to ask for a whole GPU
//   kHami   HAMi's scheduler, see HamiScheduler
enum class SharedBy { kStock, kHami };

struct Options {
  uint64_t seed = 1;  // of everything: the seeds below are derived from it
  bool with_muster = true;
  SharedBy shared_by = SharedBy::kStock;  // without Muster
  cluster::Time start{};                  // the loop's first time
  ApiServerOptions api;
  KubeSchedulerOptions scheduler;
  KubeletOptions kubelet;
  MusterLinkOptions muster;
  bool audit = false;  // check every invariant after every event
  AuditorOptions auditor;
  // Makes the way from kube-scheduler to Muster; null: DirectExtender.
  std::function<std::unique_ptr<ExtenderPort>(EventLoop&, MusterLink&)> extender;
};

class Cluster {
 public:
  explicit Cluster(Options options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  EventLoop& loop() { return loop_; }
  ApiServer& api() { return api_; }
  KubeScheduler& scheduler() { return *scheduler_; }
  Kubelet& kubelet() { return *kubelet_; }
  // Null without Muster.
  MusterLink* muster() { return muster_.get(); }
  // Null unless Options::audit. Checks after every event; see its findings.
  Auditor* auditor() { return auditor_.get(); }

  // `count` copies of `node`, named <prefix>-0, <prefix>-1, … with as many digits as the last one
  // has.
  void AddNodes(const std::string& prefix, int64_t count, const cluster::Node& node);

 private:
  struct Ready {};
  Cluster(Ready, const Options& options);

  EventLoop loop_;
  ApiServer api_;
  std::unique_ptr<MusterLink> muster_;
  std::unique_ptr<ExtenderPort> extender_;
  std::unique_ptr<KubeScheduler> scheduler_;
  std::unique_ptr<Kubelet> kubelet_;
  std::unique_ptr<JobController> jobs_;
  std::unique_ptr<Auditor> auditor_;
};

// A ready node with `gpus` healthy whole GPUs, 96 cores, 1 TiB, 110 pod slots; no name yet.
cluster::Node GpuNode(int gpus, const std::string& model = "NVIDIA-H100-80GB-HBM3");

}  // namespace muster::sim
