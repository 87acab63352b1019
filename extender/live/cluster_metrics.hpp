// ClusterMetrics: what /metrics shows of a real cluster's API server beside metrics.hpp: calls by
// lane and class of status, how long ago each watch was heard of, and whether this replica leads.
// Owned by the service; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "extender/live/admission_service.hpp"
#include "kube/api/api_client.hpp"
#include "kube/watch/cluster_feed.hpp"

namespace muster::extender {

struct ClusterReadings {
  kube::ApiClientStats calls;
  std::vector<kube::FeedHealth> feed;
  bool leading = false;
  AdmissionCounts admission = {};
  std::int64_t missed_pods = 0;
};

class ClusterMetrics {
 public:
  ClusterMetrics();
  ~ClusterMetrics();
  ClusterMetrics(const ClusterMetrics&) = delete;
  ClusterMetrics& operator=(const ClusterMetrics&) = delete;

  // In Prometheus' text form.
  std::string Text(const ClusterReadings& readings);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::extender
