// What Muster uses of each kind of object: what its decoder reads, and nothing else of it reaches a
// decoder, neither from a list nor from a watch nor from a text. A field that a decoder begins to
// read is added here; the decoder's own tests fail where that is forgotten. Constants, for any
// thread.
#pragma once

#include <span>
#include <string_view>

#include "kube/json/json_sieve.hpp"

namespace muster::kube {

std::span<const Kept> PodFields();
// Whether PodFields has this annotation.
bool KeepsPodAnnotation(std::string_view name);
std::span<const Kept> NodeFields();
std::span<const Kept> PodGroupFields();
std::span<const Kept> NamespaceFields();
std::span<const Kept> PriorityClassFields();
std::span<const Kept> DisruptionBudgetFields();
std::span<const Kept> ResourceQuotaFields();
std::span<const Kept> BatchJobFields();
std::span<const Kept> NodeTopologyFields();
std::span<const Kept> ResourceSliceFields();
std::span<const Kept> ComputeDomainFields();
std::span<const Kept> ProvisioningRequestFields();
std::span<const Kept> VolumeClaimFields();
std::span<const Kept> VolumeFields();
std::span<const Kept> StorageClassFields();
std::span<const Kept> NodeDriversFields();

// Who an object is, of whatever kind.
std::span<const Kept> IdentityFields();
// What an ERROR event says.
std::span<const Kept> StatusFields();

}  // namespace muster::kube
