// Which resources stand for GPUs and other accelerators that Muster does not plan. A pod that asks
// for one is refused with that reason: planned without, it would hold a node that has none, or one
// that others count on. For the decoders of kube/ only.
//
// Known by their names: partitions (MIG) and renamed shares of NVIDIA's cards, the shares of other
// systems, and what the device plugins of other vendors advertise. A device of a name that is not
// known (a passed-through card, say, which NVIDIA's plugin for virtual machines names after its
// model, as others name network cards) is kube-scheduler's to count.
//
// spec.resourceClaims name no resource: of which kind the devices are, a ResourceClaim, its
// template and its DeviceClass say, which Muster does not read. So a pod that has claims and asks
// for no GPU that can be planned is refused, for they may be its GPUs. Beside GPUs that are planned
// they are a ComputeDomain's channel or a network card as a rule, and kube-scheduler's to check,
// like the pod's volumes.
#pragma once

#include <string_view>

namespace muster::kube {

bool IsUnplannedDevice(std::string_view resource);

}  // namespace muster::kube
