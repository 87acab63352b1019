// What the labels that clouds give to nodes say of their GPUs, where GPU feature discovery does not
// run. For kube/ only. Pure functions.
//   instance types of AWS and Azure (node.kubernetes.io/instance-type: p5.48xlarge,
//     Standard_ND96isr_H100_v5), which know more than a name such as "a100";
//   GKE      cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb
//   EKS      karpenter.k8s.aws/instance-gpu-name (Auto Mode: eks.amazonaws.com/…): h100,
//            …/instance-gpu-memory: MiB of one GPU; k8s.amazonaws.com/accelerator, which people set
//   AKS      has none of its own: kubernetes.azure.com/accelerator says nvidia
#pragma once

#include <string>

#include "cluster/records/selector.hpp"

namespace muster::kube {

// The model of the node's GPUs, by the name that GPU feature discovery has for it
// (NVIDIA-H100-80GB-HBM3), so that policies and machine profiles know it. A name that a cloud
// itself gives and that is not known here is the model as it is. Empty: no label tells one.
std::string CloudModel(const cluster::Labels& labels);

// The label with the memory of one GPU; null when the node has none.
const char* CloudMemoryLabel(const cluster::Labels& labels);

}  // namespace muster::kube
