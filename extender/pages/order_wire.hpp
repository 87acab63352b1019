// The requests of operators and their answers, as JSON. Pure functions.
//
//   POST /v1/gangs/{ns}/{name}/priority  {"priority": 100}, null: what its pods say
//   POST /v1/gangs/{ns}/{name}/cancel    {}
//   POST /v1/queues/{name}/state         {"state": "hold"}, drain, or open
//   POST /v1/queues/{name}/reclaim       {"gpus": 8, "pauseSeconds": 600, "dryRun": false}
#pragma once

#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "engine/contract/orders.hpp"
#include "kube/admission/access_review.hpp"

namespace muster::extender {

struct OrderRequest {
  engine::Order order;  // of nobody yet
  bool dry_run = false;
  kube::AccessAttributes access;  // what they must be allowed to do
};

cluster::Result<OrderRequest> ReadOrder(std::string_view path, std::string_view body);

// {"was", "is", "by", "dryRun", "evicted": [{gang, queue, pods, whole, gpus, despite}],
//  "kept": [{gang, why}]}
std::string OrderJson(const OrderRequest& request, const engine::OrderEffect& effect);

// "queue research: hold", for the log.
std::string Describe(const engine::Order& order);

}  // namespace muster::extender
