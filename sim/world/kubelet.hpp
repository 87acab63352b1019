// Kubelet: all nodes' kubelets in one. A pod bound to a ready node becomes Running, then Succeeded
// when its simulated run time is over. For a member of a gang that time begins when minMember of
// its members run: until then they wait for each other. A deleted pod goes when its grace is over.
// On a node that is not ready nothing moves until it is ready again; when a node is deleted, its
// pods are removed after a while (the pod garbage collector's work). Resizes of pods that run are
// carried out as in resize.hpp. Where HAMi's device plugin
// hands out the GPUs, a pod is admitted first, one after the other.
//
// Owned by sim::Cluster, driven by its loop; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cluster/base/units.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"

namespace muster::sim {

struct KubeletOptions {
  uint64_t seed = 1;
  cluster::Duration start_delay = cluster::Seconds(1);  // bound → Running
  cluster::Duration grace_limit = cluster::Seconds(
      1);  // a deleted pod stops at the latest after this, if its own grace is longer
  cluster::Duration resize_delay = cluster::Seconds(1);   // for each step of a resize
  cluster::Duration orphan_delay = cluster::Seconds(40);  // node deleted → its pods removed
  int64_t admission_failures_per_mille =
      0;  // bound pods that the kubelet turns down (phase Failed), seeded
  // Where HAMi's device plugin hands out the GPUs (HamiPlugin): bound → admitted. Pods of which it
  // was told nothing do not ask it.
  cluster::Duration hami_delay = cluster::Duration(100);
};

class Kubelet {
 public:
  Kubelet(EventLoop& loop, ApiServer& api, KubeletOptions options);
  ~Kubelet();
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;

  // The node's kubelet admits no pod from now on (its device plugin is broken, say), or all again.
  void TurnDownAll(const std::string& node, bool down);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::sim
