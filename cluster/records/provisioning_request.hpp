// ProvisioningRequest: what cluster-autoscaler was asked for in Muster's name, and how far it has
// come (autoscaling.x-k8s.io). Plain value, built by the decoders.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/gang_id.hpp"

namespace muster::cluster {

using ProvisioningRequestUid = TextId<struct ProvisioningRequestUidTag>;

struct PodSpec;
// All of it as text; equal texts mean equal specs, in any process.
std::string ToText(const PodSpec& spec);

// Annotations of pods by which cluster-autoscaler knows that a request was made for them: its name,
// and its class. A pod that waits and has the first never makes the cluster grow, so Muster writes
// them with the Binding alone.
inline constexpr const char* kConsumesRequest = "autoscaling.x-k8s.io/consume-provisioning-request";
inline constexpr const char* kRequestClass = "autoscaling.x-k8s.io/provisioning-class-name";

// Label of Muster's requests and their PodTemplates, by which they are listed.
inline constexpr const char* kManagedBy = "app.kubernetes.io/managed-by";
// Annotations of Muster's requests: for which gang ("gang/train", "pod/train-0"), a fingerprint of
// what is asked for, and which try it is, from 1.
inline constexpr const char* kAskedForAnnotation = "muster.dev/asked-for";
inline constexpr const char* kAskAnnotation = "muster.dev/ask";
inline constexpr const char* kAttemptAnnotation = "muster.dev/attempt";

inline constexpr const char* kBestEffortAtomicClass =
    "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
inline constexpr const char* kCheckCapacityClass = "check-capacity.autoscaling.x-k8s.io";
// What the names of both end in; a cloud's classes have another domain.
inline constexpr const char* kAutoscalersClasses = ".autoscaling.x-k8s.io";

// By its conditions; each lists what may follow.
enum class RequestState {
  kNew,          // any: nobody has looked at it
  kAccepted,     // kProvisioned, kFailed
  kProvisioned,  // kRevoked, kExpired, kFailed: nodes were ordered, and may not be there yet
  kRevoked,      // what was found is another one's
  kExpired,      // cluster-autoscaler keeps nothing for it any more
  kFailed,
};
inline constexpr int kRequestStates = 6;
const char* ToString(RequestState state);  // "new", "accepted", …

struct ProvisioningRequest {
  ProvisioningRequestUid uid;
  ObjectKey key;
  int64_t resource_version = 0;
  // Muster's annotations; `gang` has no name where it is not Muster's.
  GangId gang;
  std::string fingerprint;
  int64_t attempt = 1;
  int64_t pod_sets = 0;
  std::string class_name;  // spec.provisioningClassName
  RequestState state = RequestState::kNew;
  Time since;           // in that state, milliseconds since 1970; 0: not known
  std::string message;  // of the condition that says most
  auto operator<=>(const ProvisioningRequest&) const = default;
};

}  // namespace muster::cluster
