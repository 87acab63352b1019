// What an API server says in a reply that is no success: the Status object in its body. Pure
// functions.
#pragma once

#include <string>

#include "kube/api/api_caller.hpp"

namespace muster::kube {

// Status.reason, such as "Conflict" or "Expired"; empty when the body is no Status.
std::string StatusReason(const ApiReply& reply);

// True when details.causes names `cause`, such as "DisruptionBudget".
bool HasStatusCause(const ApiReply& reply, const std::string& cause);

// One line for people, at most 512 bytes:
//   HTTP 409 Conflict: Operation cannot be fulfilled on … (spec.nodeName: already assigned)
// A body that is no Status comes from something in between and is not quoted: it may show what we
// sent. Whatever looks like a bearer token is left out.
std::string DescribeReply(const ApiReply& reply);

}  // namespace muster::kube
