// Records -> Kubernetes JSON, for those who play an API server or kube-scheduler: Muster's embedded
// cluster and the tests. Decoding gives back the same record. Written in one pass; pure functions.
//
// A pod's request becomes that of one container; a share of GPUs the annotation gpu-fraction or
// gpu-memory, or HAMi's resources when both share and memory are asked for (the share then in whole
// percents). Devices of a node that its labels do not describe go into annotation
// muster.dev/gpu-devices.
#pragma once

#include <string>
#include <string_view>

#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

void AppendPod(std::string& out, const cluster::Pod& pod);
// {"nodeAffinity":{"required…":{"nodeSelectorTerms":[…]}}}
void AppendAffinity(JsonWriter& json, const cluster::NodeConstraints& constraints);
void AppendNode(std::string& out, const cluster::Node& node);
std::string_view EffectText(cluster::TaintEffect effect);

inline std::string EncodePod(const cluster::Pod& pod) {
  std::string out;
  out.reserve(1024);
  AppendPod(out, pod);
  return out;
}
inline std::string EncodeNode(const cluster::Node& node) {
  std::string out;
  out.reserve(2048);
  AppendNode(out, node);
  return out;
}

}  // namespace muster::kube
