// Resource: what queues count. Amounts: how much of each is meant where what is not said is 0 (a
// guarantee). Limits: the same where it is everything (a limit). Plain values.
//
// Units: GPUs and cores in thousandths, memory in MiB.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/units.hpp"

namespace muster::queues {

struct Resource {
  enum class Kind {
    kGpu,        // all GPUs
    kGpuMemory,  // of all GPUs
    kCpu,
    kMemory,
    kGpuModel,  // GPUs of one model
  };
  Kind kind = Kind::kGpu;
  std::string model = {};  // of kGpuModel: a word of its name in lower case, e.g. "h100"
  auto operator<=>(const Resource&) const = default;
};

// "gpu", "gpu/h100", "gpuMemory", "cpu", "memory".
std::string ToString(const Resource& resource);
std::optional<Resource> ParseResource(std::string_view text);

// With its unit, for people: "2.5" GPUs or cores, "512GiB".
std::string ShowAmount(const Resource& resource, int64_t amount);

// The name of a device ("NVIDIA-H100-80GB-HBM3") has the words of `model` ("h100", "h100-80gb"), in
// this order and side by side; upper case or lower case being the same.
bool IsOfModel(std::string_view device, std::string_view model);

using Amount = cluster::Quantity<struct AmountTag>;
using Limit = cluster::Quantity<struct LimitTag>;

// By resource. What is not there is kAbsent: maps of two meanings are two types.
template <typename Value, int64_t kAbsent>
class PerResource {
 public:
  PerResource() = default;
  PerResource(std::initializer_list<std::pair<const Resource, Value>> given) : values_(given) {}
  Value of(const Resource& resource) const {
    const auto found = values_.find(resource);
    return found == values_.end() ? Value(kAbsent) : found->second;
  }
  bool has(const Resource& resource) const { return values_.contains(resource); }
  bool none() const { return values_.empty(); }
  void Set(const Resource& resource, Value value) { values_[resource] = value; }
  void Clear() { values_.clear(); }
  const std::map<Resource, Value>& said() const { return values_; }
  bool operator==(const PerResource&) const = default;

 private:
  std::map<Resource, Value> values_;
};

using Amounts = PerResource<Amount, 0>;
using Limits = PerResource<Limit, std::numeric_limits<int64_t>::max()>;

inline bool Within(Amount amount, Limit limit) {
  return limit.unlimited() || amount.value() <= limit.value();
}

}  // namespace muster::queues
