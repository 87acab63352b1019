// DeviceAssigner: which devices a bound pod is assumed to have where nothing says so: another
// scheduler placed it, or the kubelet's device plugin picked. The node ledger keeps the books and
// asks; nothing else in cluster/ chooses a device. (Of pods that Muster places, policy/ chooses.)
//
// LowestNumbered is the one in use. A prediction of what the kubelet picks is another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "cluster/records/node.hpp"

namespace muster::cluster {

// Positions are those in `node.gpus`.
struct DeviceQuestion {
  const Node& node;
  const GpuRequest& request;
  int32_t missing;                     // devices, or turns of them, that it must have; at least 1
  std::span<const DeviceAmount> free;  // what nobody has, by position; of broken devices too
  std::span<const GpuShare> known;     // what it is known to have already, ordered by index
};

// Stateless: any thread.
class DeviceAssigner {
 public:
  virtual ~DeviceAssigner() = default;
  // 1. Positions of devices, at most `missing`; one of which several turns may be had may be there
  //    several times.
  // 2. They are taken in their order as far as there is room. What then is missing is not known,
  //    and the node shows no free device (Allocation::devices_known).
  // 3. Always the same answer to the same question: a state that is rebuilt must be the same.
  virtual std::vector<size_t> Choose(const DeviceQuestion& question) const = 0;
};

// The lowest-numbered devices with room, healthy ones first; further turns of one device only when
// there are too few.
class LowestNumbered final : public DeviceAssigner {
 public:
  std::vector<size_t> Choose(const DeviceQuestion& question) const override;
};

}  // namespace muster::cluster
