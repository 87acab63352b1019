// What the engine wants cluster-autoscaler to be asked for, and to be asked for no more: two of the
// actions (engine/contract/actions.hpp). Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/gang_id.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "engine/contract/outcome.hpp"

namespace muster::engine {

// So many pods like that one.
struct AskedPods {
  cluster::ObjectKey like;
  cluster::PodUid uid;  // of that pod
  std::string role;
  int64_t count = 1;
  std::shared_ptr<const cluster::PodSpec> spec;
};

// A ProvisioningRequest and its PodTemplates are created; they are there already: it is done.
struct AskForNodes {
  ActionId id;
  cluster::ObjectKey key;  // of the request; PodTemplates are named by PodTemplateName
  cluster::GangId gang;
  cluster::PodGroupUid group;  // of the gang; empty: it has none
  std::string class_name;
  std::string fingerprint;  // cluster::kAskAnnotation
  int64_t attempt = 1;
  std::vector<AskedPods> sets;
};

// The request and its PodTemplates are deleted; they are gone already: it is done.
struct WithdrawAsk {
  ActionId id;
  cluster::ObjectKey key;
  cluster::ProvisioningRequestUid uid;  // a precondition; empty: none
  int64_t sets = 0;                     // PodTemplates
};

inline std::string PodTemplateName(const std::string& request, size_t set) {
  return request + "-" + std::to_string(set);
}

}  // namespace muster::engine
