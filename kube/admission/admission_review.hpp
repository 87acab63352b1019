// AdmissionReview (admission.k8s.io/v1): what a mutating webhook is asked, and its answer.
//
// A pod is taken for Muster at its creation, the only time at which that can be done: it gets
// Muster's schedulerName and gate. manifests/admission/schedule says the same in CEL, for API
// servers that evaluate it; a test holds the two together.
//
// Taken are pods of the default scheduler, all of them or those that ask for GPUs which Muster
// plans. Left alone are pods that name another scheduler, that have a node, of a DaemonSet, static
// ones, and those of kube-system and of Muster's own namespace. A pod that names Muster's scheduler
// already lacks the gate at most. Asked again about what came of it, the answer is no change.
//
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// Of a namespace: "gpu" or "all".
inline constexpr const char* kScheduleLabel = "muster.dev/schedule";
inline constexpr const char* kDefaultScheduler = "default-scheduler";
inline constexpr const char* kSystemNamespace = "kube-system";

enum class TakenPods {
  kNone,
  kGpu,  // those that ask for GPUs, and all of workloads that have such pods beside others
  kAll,
};
// Of the label's value; kNone: it is none that is known.
TakenPods TakenPodsOf(std::string_view label);

struct AdmissionRules {
  TakenPods taken = TakenPods::kNone;
  std::string scheduler_name;  // Muster's
  std::string own_namespace;   // empty: Muster runs outside of the cluster
};

// The JSON Patch (RFC 6902) that takes this new pod; empty: it is left alone, or is Muster's
// already.
std::string PatchOf(const JsonView& pod, const AdmissionRules& rules);

struct AdmissionAnswer {
  std::string body;  // an AdmissionReview with the response
  bool changed = false;
};
// Always allows. An error: it is no review of a pod, and there is nothing to answer to.
cluster::Result<AdmissionAnswer> AnswerReview(std::string_view review, const AdmissionRules& rules);

}  // namespace muster::kube
