// ReadTopologyTerms: where in the fabric a gang wants to be, by the annotations
// muster.dev/topology-… of a PodGroup or pod. For the decoders of kube/ only.
#pragma once

#include "cluster/topology_terms.hpp"
#include "kube/json_view.hpp"

namespace muster::kube {

// An empty annotation is none. Whether there are such levels is for the engine to say.
cluster::TopologyTerms ReadTopologyTerms(const JsonView& annotations);

}  // namespace muster::kube
