// Usage: what the pods of each queue hold, reserved or bound, and what is earmarked for them. Plain
// values.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cluster/holdings/allocation.hpp"
#include "cluster/records/node.hpp"

namespace muster::cluster {

struct Usage {
  int64_t pods = 0;
  Resources requests = {};  // without named amounts: no queue counts those
  int64_t gpu_milli = 0;  // Σ over devices of what is taken: of compute or of memory, the greater
  MiB gpu_memory = {};    // Σ over devices of what is taken of their memory
  std::map<std::string, int64_t> gpu_milli_by_model = {};  // by Gpu::model; none is 0
  // What is held on its node, by one pod more.
  void Add(const Placement& held, const Node& node);
  Usage& operator+=(const Usage& more);
  Usage& operator-=(const Usage& less);
  bool operator==(const Usage&) const = default;
};

// What is held on its node. Of devices that the node does not have neither model nor memory count.
Usage UsageOf(const Placement& held, const Node& node);
// As Usage::Add, but nothing by model: no device's name is looked at, of tens of thousands.
void AddBesideModels(Usage& usage, const Placement& held, const Node& node);

// By queue; a queue that holds nothing has no entry.
class UsageTable {
 public:
  void Add(const std::string& queue, const Placement& held, const Node& node,
           bool non_preemptible = false);
  // What Add added.
  void Remove(const std::string& queue, const Placement& held, const Node& node,
              bool non_preemptible = false);
  // All of another table.
  void Join(const UsageTable& other);
  void Subtract(const UsageTable& other);
  // Zero for a queue that holds nothing.
  Usage of(const std::string& queue) const;
  const std::map<std::string, Usage>& queues() const { return queues_; }
  // As queues(), but of non-preemptible pods only.
  const std::map<std::string, Usage>& non_preemptible() const { return non_preemptible_; }
  bool operator==(const UsageTable&) const = default;

 private:
  std::map<std::string, Usage> queues_;
  std::map<std::string, Usage> non_preemptible_;
};

}  // namespace muster::cluster
