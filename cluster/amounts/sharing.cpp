#include "cluster/amounts/sharing.hpp"

#include <algorithm>
#include <array>

namespace muster::cluster {
namespace {

// ceil(1000 × part / whole); both are positive. More than 1000 when `part` is more than `whole`.
int64_t ThousandthsUp(int64_t part, int64_t whole) {
  if (part > whole) return kWholeGpu.value() + 1;
  int64_t thousandths = 0;
  if (__builtin_mul_overflow(part, kWholeGpu.value(), &thousandths)) {
    // So large that dividing first is exact enough, and never too little.
    return (part - 1) / (whole / kWholeGpu.value()) + 1;
  }
  return (thousandths - 1) / whole + 1;
}

// A device for each GPU that is asked for.
class OnePod final : public SharingModel {
 public:
  constexpr explicit OnePod(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  DeviceAmount ShareOn(const DeviceSize& /*device*/, const GpuRequest& request) const override {
    return request.whole() ? DeviceAmount::All() : DeviceAmount();
  }

 private:
  std::string_view name_;
};

// DeviceSize::replicas turns of each device, equally large.
class Replicas final : public SharingModel {
 public:
  constexpr explicit Replicas(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  DeviceAmount ShareOn(const DeviceSize& device, const GpuRequest& request) const override {
    if (!request.whole()) return {};
    return GpuMilli(std::max<int64_t>(kWholeGpu.value() / ReplicasOf(device), 1));
  }
  int32_t ReplicasOf(const DeviceSize& device) const override {
    return std::max(device.replicas, 1);
  }

 private:
  std::string_view name_;
};

// Any part of a device: so much of its compute, and of its memory what is asked for in thousandths
// or in MiB, whichever is more. A pod that does not say how much of its compute has none of it for
// itself, one that does not say how much of its memory a thousandth. Who has all of either has the
// device alone.
class Fractions final : public SharingModel {
 public:
  std::string_view name() const override { return "fractional"; }
  DeviceAmount ShareOn(const DeviceSize& device, const GpuRequest& request) const override {
    if (request.whole()) return DeviceAmount::All();
    const int64_t compute = std::max<int64_t>(request.each.compute().value(), 0);
    int64_t memory = std::max<int64_t>(request.each.memory().value(), 0);
    if (request.memory_each.value() > 0) {
      // A device of unknown size cannot promise an amount of memory.
      if (device.memory.value() <= 0) return {};
      memory = std::max(memory, ThousandthsUp(request.memory_each.value(), device.memory.value()));
    }
    if (compute + memory == 0 || memory > kWholeGpu.value()) return {};
    if (memory == kWholeGpu.value() || compute >= kWholeGpu.value()) return DeviceAmount::All();
    return {GpuMilli(compute), GpuMilli(std::max<int64_t>(memory, 1))};
  }
  bool counted() const override { return false; }
};

constinit const OnePod kExclusiveModel("exclusive");
constinit const Replicas kTimeSlicedModel("time-slicing");
constinit const Replicas kMpsModel("mps");
constinit const Fractions kFractionalModel;
constinit const OnePod kMigModel("mig");

constinit const std::array kKnown = {GpuSharing(kExclusiveModel), GpuSharing(kTimeSlicedModel),
                                     GpuSharing(kMpsModel), GpuSharing(kFractionalModel),
                                     GpuSharing(kMigModel)};

}  // namespace

GpuSharing GpuSharing::Exclusive() { return GpuSharing(kExclusiveModel); }
GpuSharing GpuSharing::TimeSliced() { return GpuSharing(kTimeSlicedModel); }
GpuSharing GpuSharing::Mps() { return GpuSharing(kMpsModel); }
GpuSharing GpuSharing::Fractional() { return GpuSharing(kFractionalModel); }
GpuSharing GpuSharing::Mig() { return GpuSharing(kMigModel); }

int32_t SharingModel::ReplicasOf(const DeviceSize& /*device*/) const { return 1; }

std::strong_ordering GpuSharing::operator<=>(const GpuSharing& other) const {
  return model_ == other.model_ ? std::strong_ordering::equal
                                : model_->name() <=> other.model_->name();
}

std::span<const GpuSharing> KnownSharings() { return kKnown; }

std::optional<GpuSharing> FindSharing(std::string_view name) {
  const auto* known = std::find_if(kKnown.begin(), kKnown.end(), [&](const GpuSharing& sharing) {
    return sharing->name() == name;
  });
  if (known == kKnown.end()) return std::nullopt;
  return *known;
}

}  // namespace muster::cluster
