// HamiScheduler: HAMi's scheduler as the extender of a kube-scheduler that does not count GPUs, to
// compare Muster with. What is modelled, from Project-HAMi/HAMi v2.10.0 with its chart's defaults
// (nodes by binpack, GPUs by spread, deviceSplitCount 10):
//
//   a request     a share is gpucores and gpumem-percentage of each device, in whole percents,
//                 rounded up; memory in MiB where the pod says so. A whole GPU is 100 % of the
//                 memory and no cores (GenerateResourceRequests, pkg/device/nvidia/device.go)
//   a device      fits while a slot, memory and cores are left; a whole GPU's worth of cores only
//                 on an idle one; none for a request without cores once all are taken (Fit, same
//                 file)
//   which one     the least taken by slots, cores and memory, the request included (ComputeScore,
//                 pkg/scheduler/policy/gpu_policy.go)
//   which node    the most taken before the pod comes (ComputeDefaultScore,
//                 pkg/scheduler/policy/node_policy.go); Filter answers that node alone and counts
//                 the pod on it from then on (Filter, pkg/scheduler/scheduler.go)
//
// Ties among nodes are broken at random, seeded: there the order is that of goroutines. Only
// devices that may be shared take shares, as with Muster. Not modelled: its lock on the node that a
// pod is bound to, which makes bindings on one node wait for each other; NUMA; MIG.
//
// Owned by sim::Cluster; one thread at a time (the loop's).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/api_server/informer.hpp"
#include "sim/api_server/random.hpp"
#include "sim/api_server/watch.hpp"
#include "sim/calls/extender_port.hpp"

namespace muster::sim {

class HamiScheduler final : public ExtenderPort {
 public:
  HamiScheduler(EventLoop& loop, ApiServer& api, uint64_t seed);

  FilterReply Filter(const engine::NodesQuestion& question) override;
  PrioritizeReply Prioritize(const engine::NodesQuestion& question) override;
  void Bind(const engine::BindCall& call, BindDone done) override;

 private:
  // A device: what it has, and what is taken of it.
  struct Device {
    cluster::GpuIndex index;
    bool healthy = true;
    bool shared = false;  // it takes shares
    int64_t slots = 1;
    int64_t memory = 0;  // MiB; 100 where it is not known, so that it stands for percents
    int64_t used = 0;
    int64_t used_cores = 0;  // percent
    int64_t used_memory = 0;
  };
  struct Held {
    std::string node;
    std::vector<cluster::GpuIndex> gpus;
    int64_t cores = 0;
    std::vector<int64_t> memory;  // of each of `gpus`
  };

  void OnEvent(const WatchEvent& event);
  void SetNode(const cluster::Node& node);
  void Take(const cluster::PodUid& pod, Held held);
  void Add(const Held& held, int64_t sign);
  void Release(const cluster::PodUid& pod);
  // The devices of the node that the request would get; false: it does not fit.
  bool Fit(const cluster::GpuRequest& request, const std::vector<Device>& devices,
           Held& held) const;

  EventLoop& loop_;
  ApiServer& api_;
  Random random_;
  std::unordered_map<std::string, std::vector<Device>> nodes_;
  std::unordered_map<cluster::PodUid, Held> held_;
  std::unique_ptr<Informer> informer_;
};

}  // namespace muster::sim
