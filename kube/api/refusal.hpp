// What an API server's refusal comes to: its Status object as an Error. Pure.
#pragma once

#include "cluster/base/result.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::kube {

// Of a reply that is not ok(), with what DescribeReply (api_status.hpp) makes of it:
// "HTTP 403 Forbidden: podgroups is forbidden: …".
//   404, 410 kNotFound · 409 kConflict · 401, 403 kForbidden · 408, 429, 5xx kUnavailable
//   403 because the namespace is being deleted kNotFound
//   other 4xx kInvalidArgument · anything else kInternal
cluster::Error ErrorOf(const ApiReply& reply);

}  // namespace muster::kube
