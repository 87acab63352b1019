// Builders of test objects. Every one starts from a plausible object, so that a test names only
// what it is about:
//
//   state.Upsert(MakeNode("n0").Gpus(8).Label("zone", "a"));
//   state.Upsert(MakePod("p0").Gpus(1).InGroup("train").Gated());
//   state.Upsert(MakePodGroup("train").MinMember(4));
//
// Build() and the implicit conversion give a copy; a builder may be changed and built again. Plain
// values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/pod_group.hpp"

namespace muster::testing {

// A ready node "NAME" with UID "node-NAME", 64 cores, 512 GiB, 110 pod slots and no GPUs.
class NodeBuilder {
 public:
  explicit NodeBuilder(const std::string& name);

  NodeBuilder& Uid(const std::string& uid);
  NodeBuilder& Cpu(int64_t cores);
  NodeBuilder& MilliCpu(int64_t milli);
  NodeBuilder& MemoryGiB(int64_t gib);
  NodeBuilder& MemoryMiB(int64_t mib);
  NodeBuilder& PodSlots(int64_t pods);
  NodeBuilder& Offers(const std::string& resource, int64_t amount);
  // `count` whole, healthy devices 0 … count-1 in place of those it had.
  NodeBuilder& Gpus(int count, const std::string& model = "NVIDIA-H100-80GB-HBM3",
                    int64_t memory_mib = 81559);
  // How all devices it has by now are shared.
  NodeBuilder& Sharing(cluster::GpuSharing sharing, int32_t replicas = 1);
  NodeBuilder& Unhealthy(int gpu);
  NodeBuilder& CordonedGpu(int gpu);
  NodeBuilder& Label(const std::string& key, const std::string& value);
  NodeBuilder& Taint(const std::string& key, const std::string& value, cluster::TaintEffect effect);
  NodeBuilder& Cordoned();
  NodeBuilder& NotReady();

  cluster::Node Build() const { return node_; }
  operator cluster::Node() const { return node_; }  // NOLINT(google-explicit-constructor)

 private:
  cluster::Node node_;
};

// A pending pod "default/NAME" with UID "pod-NAME" and schedulerName muster that asks for one core,
// 1 GiB, one pod slot and no GPUs.
class PodBuilder {
 public:
  explicit PodBuilder(const std::string& name);

  PodBuilder& Uid(const std::string& uid);
  PodBuilder& Namespace(const std::string& ns);
  PodBuilder& MilliCpu(int64_t milli);
  PodBuilder& MemoryMiB(int64_t mib);
  // Whole devices.
  PodBuilder& Gpus(int32_t count);
  // `count` devices, `milli` of each; `memory_mib` is what a share needs of a device's memory.
  PodBuilder& GpuShare(int64_t milli, int32_t count = 1, int64_t memory_mib = 0);
  // `count` devices, so much of the compute and of the memory of each.
  PodBuilder& GpuParts(int64_t compute_milli, int64_t memory_milli, int32_t count = 1);
  PodBuilder& Wants(const std::string& resource, int64_t amount);
  PodBuilder& Label(const std::string& key, const std::string& value);
  PodBuilder& Rules(const cluster::PodRules& rules);
  // A claim for a channel of a ComputeDomain.
  PodBuilder& Channel();
  // PodSpec::unplanned_devices.
  PodBuilder& Unplanned(const std::string& devices);
  // Annotations muster.dev/topology-required and -preferred; empty: none.
  PodBuilder& Within(const std::string& required, const std::string& preferred = "");
  PodBuilder& Priority(int32_t priority);
  PodBuilder& Select(const std::string& label, const std::string& value);
  PodBuilder& Tolerate(const cluster::Toleration& toleration);
  PodBuilder& Constraints(const cluster::NodeConstraints& constraints);
  PodBuilder& Scheduler(const std::string& name);
  PodBuilder& InGroup(const std::string& group);
  PodBuilder& Queue(const std::string& queue);
  PodBuilder& Role(const std::string& role);
  PodBuilder& Owner(const std::string& owner_uid);
  // Its number among its owner's pods, and of its Job in the JobSet.
  PodBuilder& Index(int32_t index, int32_t job_index = cluster::Pod::kNoIndex);
  PodBuilder& Daemon();
  // Behind Muster's gate, or behind the one named.
  PodBuilder& Gated(const std::string& gate = cluster::kGangGate);
  PodBuilder& Phase(cluster::PodPhase phase);
  PodBuilder& Deleting();
  PodBuilder& Nominated(const std::string& node);
  // Bound to `node`, with these GPU indices in the annotation; by Muster where there are any.
  PodBuilder& BoundTo(const std::string& node, const std::vector<int>& gpus = {});
  PodBuilder& CreatedAt(int64_t milliseconds);
  PodBuilder& Version(int64_t resource_version);
  PodBuilder& Defect(const std::string& defect);

  cluster::Pod Build() const;
  operator cluster::Pod() const { return Build(); }  // NOLINT(google-explicit-constructor)

 private:
  cluster::Pod pod_;
  cluster::PodSpec spec_;
};

// A PodGroup "default/NAME" with UID "group-NAME" and minMember 1.
class PodGroupBuilder {
 public:
  explicit PodGroupBuilder(const std::string& name);

  PodGroupBuilder& Uid(const std::string& uid);
  PodGroupBuilder& Namespace(const std::string& ns);
  PodGroupBuilder& MinMember(int64_t min_member);
  PodGroupBuilder& Role(const std::string& name, int64_t min_member);
  // Annotations muster.dev/topology-required and -preferred; empty: none.
  PodGroupBuilder& Within(const std::string& required, const std::string& preferred = "");
  PodGroupBuilder& TimeoutSeconds(int64_t seconds);
  PodGroupBuilder& CreatedAt(int64_t milliseconds);
  PodGroupBuilder& Version(int64_t resource_version);
  PodGroupBuilder& Defect(const std::string& defect);

  cluster::PodGroup Build() const { return group_; }
  operator cluster::PodGroup() const { return group_; }  // NOLINT(google-explicit-constructor)

 private:
  cluster::PodGroup group_;
};

NodeBuilder MakeNode(const std::string& name);
PodBuilder MakePod(const std::string& name);
PodGroupBuilder MakePodGroup(const std::string& name);

// What `pod` takes when it is placed on these devices of `node`, which is at `index` of a state.
cluster::Placement PlaceOn(const cluster::Pod& pod, const cluster::Node& node,
                           cluster::NodeIndex index, const std::vector<int>& gpus = {});

// As much of both dimensions of each device, and what of both there is of each.
std::vector<cluster::DeviceAmount> Amounts(const std::vector<int>& milli);
std::vector<int> Milli(std::span<const cluster::DeviceAmount> amounts);

}  // namespace muster::testing
