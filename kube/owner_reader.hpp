// ReadOwner: what an API server says of one owner. One GET, in Lane::kOwner; any thread.
#pragma once

#include "kube/api_caller.hpp"
#include "kube/owner_table.hpp"

namespace muster::kube {

OwnerAnswer ReadOwner(ApiCaller& api, const OwnerRequest& request);

}  // namespace muster::kube
