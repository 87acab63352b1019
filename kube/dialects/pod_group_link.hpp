// ReadPodGroupLink: the PodGroup that a pod names itself, whatever its ecosystem's word for that.
// Pure, any thread. For the decoders of kube/ only.
#pragma once

#include <string>

#include "kube/json/json_view.hpp"

namespace muster::kube {

// Empty: it names none. A Kueue group that is marked serving is none: its total count says how many
// pods there are, not how many must start together (PodGroupServingAnnotationKey in
// pkg/controller/jobs/pod/constants of kubernetes-sigs/kueue v0.19.2).
std::string ReadPodGroupLink(const JsonView& spec, const JsonView& labels,
                             const JsonView& annotations);

}  // namespace muster::kube
