// ExecPlugin: the program that a kubeconfig names in users[].user.exec, which prints credentials
// (client.authentication.k8s.io/v1 and v1beta1, as cloud providers' kubeconfigs have it). Only
// commands that a person types run it; `muster serve` refuses such a kubeconfig. Pure functions:
// cli/ runs the program.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/base/result.hpp"
#include "kube/api/client_config.hpp"

namespace muster::kube {

struct ExecPlugin {
  std::string api_version;
  std::string command;  // searched in PATH, or beside the kubeconfig if it has a slash
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // beside one's own
  std::string install_hint;                              // for people who do not have it
  bool provide_cluster_info = false;                     // $KUBERNETES_EXEC_INFO names the cluster
};

// $KUBERNETES_EXEC_INFO: an ExecCredential that says what is asked for.
std::string ExecInfo(const ExecPlugin& plugin, const ClientConfig& config, bool interactive);

// What the program printed, as the credentials of `config`. No error holds what it printed.
cluster::Status TakeExecCredential(const ExecPlugin& plugin, std::string_view printed,
                                   ClientConfig* config);

}  // namespace muster::kube
