#include "cli/reach/kubeconfig.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/reach/credential_program.hpp"
#include "extender/live/cluster_access.hpp"
#include "kube/api/exec_plugin.hpp"
#include "kube/api/kubeconfig.hpp"

namespace muster::cli {

using cluster::Code;
using cluster::Error;
using cluster::Result;

std::string Variable(const char* name) {
  // Nothing sets variables once main has begun.
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

namespace {

bool IsEmpty(const std::string& file) {
  std::error_code none;
  return std::filesystem::is_regular_file(file, none) && std::filesystem::is_empty(file, none);
}

// Kubeconfigs of a person, whose program for credentials is run.
Result<kube::ClientConfig> ReadPersonal(const std::vector<std::string>& files,
                                        const std::string& context) {
  std::vector<kube::KubeconfigText> texts;
  for (const std::string& file : files) {
    if (files.size() > 1 && IsEmpty(file)) continue;  // it says nothing
    Result<std::string> json = extender::ReadKubeconfig(file);
    if (!json.ok()) return json.error();
    texts.push_back({*std::move(json), file});
  }
  if (texts.empty())
    return Error{Code::kInvalidArgument, "is empty, as are the other files of $KUBECONFIG",
                 files.front()};
  Result<kube::PersonalConfig> personal = kube::ParsePersonalKubeconfig(texts, context);
  if (!personal.ok()) return personal.error();
  if (personal->plugin) {
    if (const cluster::Status ran = RunCredentialProgram(*personal->plugin, &personal->config);
        !ran.ok())
      return ran.error();
  }
  return kube::WithEnvironmentProxy(std::move(personal->config), [](const std::string& name) {
    return std::optional(Variable(name.c_str()));
  });
}

bool IsThere(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

}  // namespace

std::vector<Flag> WithCluster(std::vector<Flag> flags) {
  flags.push_back(
      {"--kubeconfig", "FILE", "of the cluster (default: $KUBECONFIG, else ~/.kube/config)"});
  flags.push_back({"--context", "NAME", "of the kubeconfig (default: its current-context)"});
  return flags;
}

std::vector<std::string> KubeconfigFiles(const Args& args) {
  if (args.Has("--kubeconfig")) return {args.Text("--kubeconfig")};
  std::vector<std::string> there;
  if (const std::string files = Variable("KUBECONFIG"); !files.empty()) {
    std::size_t from = 0;
    while (from < files.size()) {
      const std::size_t to = std::min(files.find(':', from), files.size());
      std::string file = files.substr(from, to - from);
      if (!file.empty() && IsThere(file)) there.push_back(std::move(file));
      from = to + 1;
    }
    if (there.empty()) there.push_back(files.substr(0, files.find(':')));
    return there;
  }
  std::string file = Variable("HOME") + "/.kube/config";
  if (IsThere(file)) there.push_back(std::move(file));
  return there;
}

Result<kube::ClientConfig> ReadCluster(const Args& args) {
  extender::ClusterAccess access;
  const std::vector<std::string> files = KubeconfigFiles(args);
  if (!files.empty()) return ReadPersonal(files, args.Text("--context"));
  access.in_cluster = true;
  Result<kube::ClientConfig> pod = extender::ReadClientConfig(access);
  if (pod.ok()) return pod;
  return Error{Code::kNotFound,
               "no cluster is known: there is neither $KUBECONFIG nor ~/.kube/config, and this is "
               "no pod with a service account; give --kubeconfig FILE",
               ""};
}

}  // namespace muster::cli
