// Kubeconfigs, as kubectl reads them, save what would run a program or send a password. Where
// kubectl has a rule, it is kubectl's: -data fields win over files, tokenFile over token, nobody's
// credentials are sent to an http:// server. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "kube/api/client_config.hpp"
#include "kube/api/exec_plugin.hpp"

namespace muster::kube {

// A kubeconfig as JSON (kubeconfigs are YAML; extender/ converts). Relative paths in it are
// relative to the folder of its file, whose name also begins the place of every error.
struct KubeconfigText {
  std::string json;
  std::string file;
};

// An empty `context` is the file's current-context.
cluster::Result<ClientConfig> ParseKubeconfig(const KubeconfigText& text,
                                              const std::string& context = {});

struct PersonalConfig {
  ClientConfig config;
  std::optional<ExecPlugin> plugin;  // whose credentials are missing in `config`
};

// As ParseKubeconfig, of kubeconfigs that may name a program. Credentials that stand there as well
// are put aside. Of several files the first that has a context, cluster or user of a name counts,
// and the first that sets current-context. All as kubectl does.
cluster::Result<PersonalConfig> ParsePersonalKubeconfig(const std::vector<KubeconfigText>& files,
                                                        const std::string& context = {});

}  // namespace muster::kube
