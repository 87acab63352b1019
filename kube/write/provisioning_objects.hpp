// The objects with which cluster-autoscaler is asked for nodes: a ProvisioningRequest, and a
// PodTemplate for each kind of pod in it, in the same namespace. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "engine/contract/node_ask.hpp"

namespace muster::kube {

// What owns the request and its templates, so that they go with it.
struct AskOwner {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
};

// Of the pod that a template is made of.
struct PodModel {
  std::string uid;
  AskOwner owner;      // what controls it, else the pod itself
  std::string labels;  // as JSON
  // As JSON: its whole spec, but for what is the pod's alone: its node, its gates, its scheduling
  // group and what was put into it while it runs.
  std::string spec;
};

// `json`: the pod, as the API server has it. An error: it is none.
cluster::Result<PodModel> ReadPodModel(std::string_view json);

// JSON of core/v1 PodTemplate.
std::string PodTemplateBody(const std::string& name, const std::string& ns, const PodModel& pod,
                            const AskOwner& owner);
// Of ProvisioningRequest, in that version of autoscaling.x-k8s.io.
std::string ProvisioningRequestBody(const engine::AskForNodes& ask, const AskOwner& owner,
                                    std::string_view version);

}  // namespace muster::kube
