// OrderStore: the standing orders of operators (engine::StandingOrders), kept in a ConfigMap that
// Muster alone writes (config_map.hpp), because teams may write their PodGroups.
//
//   data:
//     orders.json: {"queues": {"research": {"state": "hold", "by": "ann"}},
//                   "gangs": {"team/train": {"uid": "…", "priority": 100, "by": "ann"}}}
//
// Read once, when this process begins to lead; written with each order. Owned by ApiCluster; Read
// and Write by one thread at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "engine/contract/orders.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/config_map.hpp"

namespace muster::kube {

class OrderStore {
 public:
  struct Ports {
    ApiCaller& api;
    std::function<bool()> may_write;
  };

  OrderStore(const Ports& ports, const cluster::ObjectKey& config_map);

  // Without such an object: none.
  cluster::Result<engine::StandingOrders> Read();
  // The ConfigMap says exactly that; an error: it says what it said before, as far as is known.
  cluster::Status Write(const engine::StandingOrders& orders);

 private:
  ConfigMapText text_;
};

std::string EncodeOrders(const engine::StandingOrders& orders);
cluster::Result<engine::StandingOrders> DecodeOrders(std::string_view json);

}  // namespace muster::kube
