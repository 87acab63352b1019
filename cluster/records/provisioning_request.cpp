#include "cluster/records/provisioning_request.hpp"

namespace muster::cluster {

const char* ToString(RequestState state) {
  switch (state) {
    case RequestState::kNew:
      return "new";
    case RequestState::kAccepted:
      return "accepted";
    case RequestState::kProvisioned:
      return "provisioned";
    case RequestState::kRevoked:
      return "revoked";
    case RequestState::kExpired:
      return "expired";
    case RequestState::kFailed:
      break;
  }
  return "failed";
}

}  // namespace muster::cluster
