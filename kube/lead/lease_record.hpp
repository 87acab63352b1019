// LeaseRecord: what a Lease of coordination.k8s.io/v1 says, and the requests that read and write
// it. Plain values; all but GiveBack are pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::kube {

struct LeaseRecord {
  std::string holder;  // empty: nobody
  int64_t duration_seconds = 0;
  std::string acquire_time;  // MicroTime; never compared with any clock, only with itself
  std::string renew_time;
  int64_t transitions = 0;
  bool operator==(const LeaseRecord&) const = default;
};

// A Lease as it was read: the record, and the metadata that an update must give back.
struct LeaseObject {
  LeaseRecord record;
  std::string metadata;  // JSON, without managedFields
};

cluster::Result<LeaseObject> ReadLease(std::string_view json);

ApiRequest GetLease(const cluster::ObjectKey& key);
ApiRequest CreateLease(const cluster::ObjectKey& key, const LeaseRecord& record);
// Fails with 409 where the Lease has changed since `base` was read.
ApiRequest UpdateLease(const cluster::ObjectKey& key, const LeaseObject& base,
                       const LeaseRecord& record);

// Ends the holder's time, so that another may take the Lease at once, unless another has it or
// there is no answer: then it ends by itself. `held`: what the holder wrote last. `base`: what it
// read with it, if it knows.
void GiveBack(ApiCaller& api, const cluster::ObjectKey& key, std::optional<LeaseObject> base,
              const LeaseRecord& held, cluster::Time wall);

}  // namespace muster::kube
