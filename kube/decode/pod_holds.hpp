// What a bound pod holds of its node, as its status says: it may be resized in place. For the
// decoders of kube/ only.
//
// As kube-scheduler counts it (PodRequests of k8s.io/component-helpers/resource v0.37.0, with
// UseStatusResources): of CPU and memory the most of
//   what the spec requests,           but not where the kubelet said that it never can
//                                     (PodResizePending with reason Infeasible);
//   what the kubelet has allocated    (allocatedResources of its containers, or of the pod);
//   what is in force                  (resources.requests of these),
// each summed over the containers as in pod_requests.hpp; a container without a status counts with
// its spec. A resize that is Deferred counts in full, one to less only when it is done. Nothing
// else of the status lowers it: containers, sidecars and init containers that have ended count on,
// and so does a pod that is being deleted, until it is gone or has ended (Succeeded, Failed).
#pragma once

#include <memory>

#include "cluster/amounts/resources.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// `spec` and `status` are pod.spec and pod.status, `requests` what the spec requests. Null: it
// holds that. What is malformed in a status does not count.
std::shared_ptr<const cluster::Resources> ReadResized(const JsonView& spec, const JsonView& status,
                                                      const cluster::Resources& requests);

}  // namespace muster::kube
