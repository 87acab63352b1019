// Builders for queues, and amounts in whole GPUs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "queues/queue_spec.hpp"
#include "queues/tree.hpp"

namespace muster::queues::testing {

inline const Resource kGpu{Resource::Kind::kGpu};
inline const Resource kCpu{Resource::Kind::kCpu};
inline const Resource kH100{Resource::Kind::kGpuModel, "h100"};
inline const Resource kT4{Resource::Kind::kGpuModel, "t4"};

constexpr int64_t Whole(int64_t gpus) { return gpus * 1000; }

class MakeQueue {
 public:
  explicit MakeQueue(std::string name, std::string parent = "") {
    spec_.name = std::move(name);
    spec_.parent = std::move(parent);
  }
  // In GPUs or cores.
  MakeQueue& Guarantee(int64_t amount, const Resource& resource = kGpu) {
    spec_.guarantee.Set(resource, Amount(Whole(amount)));
    return *this;
  }
  MakeQueue& Shape(int64_t whole_nodes, const std::string& model = "") {
    spec_.shapes.push_back({whole_nodes, model});
    return *this;
  }
  MakeQueue& Lend(int64_t amount, const Resource& resource = kGpu) {
    spec_.lend.Set(resource, Limit(Whole(amount)));
    return *this;
  }
  MakeQueue& AtMost(int64_t amount, const Resource& resource = kGpu) {
    spec_.limit.Set(resource, Limit(Whole(amount)));
    return *this;
  }
  MakeQueue& Weight(int64_t weight) {
    spec_.weight = weight;
    return *this;
  }
  MakeQueue& Counts(const Resource& resource, int64_t weight) {
    spec_.resource_weights[resource] = weight;
    return *this;
  }
  MakeQueue& Cap(int64_t priority) {
    spec_.priority_cap = priority;
    return *this;
  }
  MakeQueue& In(Order order) {
    spec_.order = order;
    return *this;
  }
  MakeQueue& FairByNamespace() {
    spec_.fair_by = FairBy::kNamespace;
    return *this;
  }
  MakeQueue& Is(QueueState state) {
    spec_.state = state;
    return *this;
  }
  MakeQueue& For(std::vector<std::string> namespaces) {
    spec_.namespaces = std::move(namespaces);
    return *this;
  }
  MakeQueue& ForLabels(cluster::Labels labels) {
    spec_.selector = NamespaceSelector{std::move(labels)};
    return *this;
  }
  operator QueueSpec() const { return spec_; }  // NOLINT(google-explicit-constructor)

 private:
  QueueSpec spec_;
};

inline std::shared_ptr<const Tree> TreeOf(const std::vector<QueueSpec>& queues) {
  return std::make_shared<const Tree>(queues);
}

inline const Queue& QueueAt(const Tree& tree, size_t index) {
  return tree.at(QueueIndex{static_cast<uint32_t>(index)});
}

}  // namespace muster::queues::testing
