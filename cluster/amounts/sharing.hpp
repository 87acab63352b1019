// SharingModel: how devices of one kind are given to pods. It stands behind ShareOn, the node
// ledger, what is shown as free, placement and the decoders, which know no kind by name but through
// it; so a new kind is one more model.
//
// GpuSharing: which model a device follows. A plain value: any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cluster/amounts/device_amount.hpp"
#include "cluster/amounts/resources.hpp"
#include "cluster/base/units.hpp"

namespace muster::cluster {

// What models look at of a device.
struct DeviceSize {
  MiB memory;            // 0: not known
  int32_t replicas = 1;  // turns that its device plugin was told to make of it
};

// Stateless: any thread. A model lives as long as any record that names it.
class SharingModel {
 public:
  virtual ~SharingModel() = default;
  // 1. Constant, and no two models have the same. As annotation muster.dev/gpu-devices writes it.
  virtual std::string_view name() const = 0;
  // 2. What `request` takes of a device when it is given a part of it; none when that device cannot
  //    serve such a request at all. Equal arguments give equal shares. A share is never more than
  //    the whole device and always has some of its memory, so that whether pods fit side by side
  //    does not depend on which came first.
  virtual DeviceAmount ShareOn(const DeviceSize& device, const GpuRequest& request) const = 0;
  // 3. How many GPUs a device plugin advertises for it, at least 1. Where it is more than one, a
  //    request may be given several turns of one device.
  virtual int32_t ReplicasOf(const DeviceSize& device) const;
  // 4. True: kube-scheduler compares the number of GPUs that pods ask for with the number that is
  //    advertised. False: it does not count these, for they are given in amounts.
  virtual bool counted() const { return true; }
};

class GpuSharing {
 public:
  static GpuSharing Exclusive();   // whole devices only
  static GpuSharing TimeSliced();  // `replicas` pods take turns; the device plugin advertises each
                                   // turn as one GPU
  static GpuSharing Mps();         // `replicas` pods at once, each with 1/replicas of the device
  static GpuSharing Fractional();  // any share (HAMi, KAI and others enforce or trust it)
  static GpuSharing Mig();         // partitioned in hardware; the partitions are devices of their
                                   // own

  constexpr explicit GpuSharing(const SharingModel& model) : model_(&model) {}

  const SharingModel* operator->() const { return model_; }
  bool operator==(const GpuSharing& other) const = default;
  // By name.
  std::strong_ordering operator<=>(const GpuSharing& other) const;

 private:
  const SharingModel* model_;
};

// Those above, in their order.
std::span<const GpuSharing> KnownSharings();
// By its name; nothing when no known kind has it.
std::optional<GpuSharing> FindSharing(std::string_view name);

}  // namespace muster::cluster
