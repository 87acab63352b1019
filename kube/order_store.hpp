// OrderStore: the standing orders of operators (engine::StandingOrders), kept in a ConfigMap that
// Muster alone writes, because teams may write their PodGroups.
//
//   data:
//     orders.json: {"queues": {"research": {"state": "hold", "by": "ann"}},
//                   "gangs": {"team/train": {"uid": "…", "priority": 100, "by": "ann"}}}
//
// Read once, when this process begins to lead; written with each order. What was never read is not
// overwritten. Owned by ApiCluster; Read and Write by one thread at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cluster/ids.hpp"
#include "cluster/result.hpp"
#include "engine/orders.hpp"
#include "kube/api_caller.hpp"

namespace muster::kube {

class OrderStore {
 public:
  struct Ports {
    ApiCaller& api;
    std::function<bool()> may_write;
  };

  OrderStore(Ports ports, cluster::ObjectKey config_map)
      : ports_(std::move(ports)), key_(std::move(config_map)) {}

  // Without such an object: none.
  cluster::Result<engine::StandingOrders> Read();
  // The ConfigMap says exactly that; an error: it says what it said before, as far as is known.
  cluster::Status Write(const engine::StandingOrders& orders);
  const cluster::ObjectKey& key() const { return key_; }

 private:
  ApiRequest WriteOf(const engine::StandingOrders& orders) const;

  const Ports ports_;
  const cluster::ObjectKey key_;
  bool known_ = false;   // it was read
  std::string version_;  // of the object; empty: there is none
};

std::string EncodeOrders(const engine::StandingOrders& orders);
cluster::Result<engine::StandingOrders> DecodeOrders(std::string_view json);

}  // namespace muster::kube
