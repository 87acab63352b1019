#include "kube/api/refusal.hpp"

#include "kube/api/api_status.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;

namespace {

Code CodeOf(int status) {
  if (status == 404 || status == 410) return Code::kNotFound;
  if (status == 409) return Code::kConflict;
  if (status == 401 || status == 403) return Code::kForbidden;
  if (status == 408 || status == 429 || (status >= 500 && status < 600)) return Code::kUnavailable;
  return status >= 400 && status < 500 ? Code::kInvalidArgument : Code::kInternal;
}

}  // namespace

Error ErrorOf(const ApiReply& reply) {
  // What is to be made in a namespace that is being deleted has no place any more; all else that is
  // forbidden may be allowed soon (corev1.NamespaceTerminatingCause).
  const bool no_place = reply.status == 403 && HasStatusCause(reply, "NamespaceTerminating");
  return {no_place ? Code::kNotFound : CodeOf(reply.status), DescribeReply(reply), ""};
}

}  // namespace muster::kube
