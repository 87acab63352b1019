// Where a pod may run, read from pod.spec: nodeSelector, required node affinity, tolerations; and
// which pods a LabelSelector means. For the decoders of kube/ only.
#pragma once

#include <vector>

#include "cluster/selector.hpp"
#include "kube/json_view.hpp"

namespace muster::kube {

// What is malformed is a problem of the view. A toleration with an operator that compares numbers
// (Lt, Gt) is left out: the pod is then planned on fewer nodes than it could use, never on a wrong
// one.
cluster::NodeConstraints ReadNodeConstraints(const JsonView& spec);

// matchLabels and matchExpressions of a LabelSelector, all of which must hold.
std::vector<cluster::SelectorRequirement> ReadLabelSelector(const JsonView& selector);

}  // namespace muster::kube
