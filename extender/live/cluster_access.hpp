// How `muster serve` finds a real cluster: by a kubeconfig, or by the service account of its own
// pod. Reads the files; only RunsAhead calls a server.
#pragma once

#include <functional>
#include <string>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "extender/live/admission_service.hpp"
#include "kube/api/client_config.hpp"

namespace muster::extender {

struct ClusterAccess {
  std::string kubeconfig = {};  // a file; empty: in_cluster
  std::string context = {};     // empty: its current-context
  bool in_cluster = false;
  // Of the Lease by which replicas elect their leader; empty: this process is the only one.
  cluster::ObjectKey lease = {};
  // Of the ConfigMap that keeps operators' standing orders; empty: none are taken.
  cluster::ObjectKey orders = {};
  // Of the ConfigMap that keeps what queues have used; empty: a restart forgets it.
  cluster::ObjectKey usage = {};
  // The webhook that takes new pods for Muster.
  AdmissionSettings admission = {};

  bool given() const { return in_cluster || !kubeconfig.empty(); }
};

cluster::Result<kube::ClientConfig> ReadClientConfig(const ClusterAccess& access);

// How far this host's clock runs ahead of the API server's, by the Date of an answer; 0: it does
// not, by less than a second or two, or nobody can say. `now`: milliseconds since 1970. Calls the
// server once, for 3 s at most.
cluster::Duration RunsAhead(const kube::ClientConfig& server,
                            const std::function<cluster::Time()>& now);

// A kubeconfig, one YAML document, as JSON. Errors name the file, and the line where there is one.
cluster::Result<std::string> ReadKubeconfig(const std::string& file);

// "namespace/name".
cluster::Result<cluster::ObjectKey> ParseObjectKey(const std::string& text);

// The pod that this process runs in, by POD_NAMESPACE and POD_NAME of the downward API; empty
// outside of one.
cluster::ObjectKey OwnPod();
// Unlike any other process's: the pod's or host's name and a random part.
std::string OwnIdentity();

}  // namespace muster::extender
