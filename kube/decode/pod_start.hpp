// ReadStart: how a pod's start on its node went, from its status. For the decoders of kube/ only.
//
//   not admitted  phase Failed, no container ever ran, and status.reason is one that the kubelet
//                 gives when the node cannot take a pod that it should be able to take
//                 (kubernetes v1.36.3, pkg/kubelet: lifecycle/predicate.go, cm/admission/errors.go,
//                 cm/topologymanager, cm/cpumanager/policy_static.go, volumemanager, nodeshutdown,
//                 eviction). Reasons that are about what the pod asks for (SysctlForbidden,
//                 AppArmor, PodOSNotSupported, PodFeatureUnsupported, …) are not.
//   failed early  the first run of a container ended with another exit code than 0. The status
//                 shows that run until the second one has ended too. A run that was never begun
//                 (StartError) lasted for no time. Not where status.reason says that the kubelet
//                 stopped the pod (Evicted, Preempting, DeadlineExceeded, …).
//   runs          phase Running or Succeeded, and each container runs or has succeeded.
#pragma once

#include "cluster/records/pod.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// Sets start_failure and running_since; phase and created are set already. What is malformed is
// taken as absent.
void ReadStart(const JsonView& status, cluster::Pod& record);

}  // namespace muster::kube
