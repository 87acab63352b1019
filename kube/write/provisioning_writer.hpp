// ProvisioningWriter: creates and deletes ProvisioningRequests with their PodTemplates, as the
// engine wants it.
//
//   Want ──▶ a line per namespace ──▶ Step: all calls of one action ──▶ report
//
//   AskForNodes   GET a pod of each kind ──▶ POST its PodTemplate ──▶ … ──▶ POST the request
//   WithdrawAsk   DELETE the request ──▶ DELETE its PodTemplates
//
// 1. Templates are there before the request that names them: cluster-autoscaler reads no request
//    while one's template is missing. What exists already is as good as made.
// 2. All of it is owned by the gang's PodGroup, else by what controls the first pod, else by that
//    pod: the API server collects it where Muster cannot delete it.
// 3. Nothing is tried again here: the engine hears how it went, and when to try again.
// 4. Namespaces take turns, with one action at a time each (fair_line.hpp).
//
// Any thread. As many may call Step at a time as there are to be calls, kThreads at most.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/node_ask.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/fair_line.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/dialects/pod_group_flavours.hpp"
#include "kube/write/provisioning_objects.hpp"

namespace muster::kube {

class ProvisioningWriter {
 public:
  struct Ports {
    ApiCaller& api;
    // What a PodGroup is served as. Nothing: there is no such object.
    std::function<std::optional<ServedPodGroups>(const cluster::PodGroupUid&)> find;
    // Asked right before each write.
    std::function<bool()> may_write;
    std::function<void(const engine::Outcome&)> report;
    // One line for the log.
    std::function<void(const std::string&)> warn;
  };
  static constexpr int kThreads = 2;

  explicit ProvisioningWriter(Ports ports) : ports_(std::move(ports)) {}

  // Step is due at once.
  void Want(const engine::AskForNodes& ask);
  void Want(const engine::WithdrawAsk& withdraw);
  // Carries out one action; when the next one is due, or Never.
  cluster::Time Step(const Clocks& now);

 private:
  using Write = std::variant<engine::AskForNodes, engine::WithdrawAsk>;

  void Put(const std::string& ns, Write write);
  engine::Outcome Do(const engine::AskForNodes& ask);
  engine::Outcome Do(const engine::WithdrawAsk& withdraw);
  // Its pods' models, in order; else how it failed.
  std::optional<engine::Outcome> Read(const engine::AskForNodes& ask, std::vector<PodModel>& pods);
  AskOwner OwnerOf(const engine::AskForNodes& ask, const PodModel& first) const;
  // Nothing: it was created, or is there.
  std::optional<engine::Outcome> Create(std::string path, std::string body);
  // Of the request, in the version that is served. `call`: of a path in one version.
  cluster::Result<ApiReply> OnRequest(
      const std::function<ApiRequest(const std::string& version)>& call);

  const Ports ports_;

  cluster::Mutex mu_;
  uint64_t last_ MUSTER_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Write> writes_ MUSTER_GUARDED_BY(mu_);
  FairLine<uint64_t, cluster::Time> line_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube
