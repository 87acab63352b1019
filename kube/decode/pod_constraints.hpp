// Where a pod may run, read from pod.spec: nodeSelector, required node affinity, tolerations; what
// it demands of pods around it; and which pods a LabelSelector means. For the decoders of kube/
// only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cluster/records/pod_rules.hpp"
#include "cluster/records/selector.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// Of one pod: terms, requirements, values, tolerations and labels in all, and the bytes of their
// texts. They are held for as long as the pod is there, and looked at for each node: a list of half
// of the largest cluster's nodes is within them, 64 KiB of them cost at most 200 KiB of memory.
inline constexpr size_t kMaxConstraints = 2560;
inline constexpr size_t kMaxConstraintBytes = size_t{64} << 10;

// What is malformed is a problem of the view, and so are constraints beyond the bounds: there are
// none then. A toleration with an operator that compares numbers
// (Lt, Gt) is left out: the pod is then planned on fewer nodes than it could use, never on a wrong
// one.
cluster::NodeConstraints ReadNodeConstraints(const JsonView& spec);

// Terms of a required node affinity, of a volume's too. Beyond the same bounds there are none.
std::vector<cluster::NodeSelectorTerm> ReadNodeSelectorTerms(const JsonView& terms);

// The pod's labels, within the same bounds; those beyond them are left out.
cluster::PodLabels ReadPodLabels(const JsonView& labels);

// Host ports, required affinity and anti-affinity to pods, and topology spread that must be kept,
// of a pod of that namespace with those labels. Beyond the same bounds it is a problem, and there
// are none. A preference is kube-scheduler's to score, and left out.
cluster::PodRules ReadPodRules(const JsonView& spec, const std::string& ns,
                               const cluster::PodLabels& labels);

// matchLabels and matchExpressions of a LabelSelector, all of which must hold. Beyond the same
// bounds there are none, so that all pods are meant.
std::vector<cluster::SelectorRequirement> ReadLabelSelector(const JsonView& selector);

}  // namespace muster::kube
