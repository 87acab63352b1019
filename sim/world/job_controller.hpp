// JobController: makes the pods of Jobs, replaces those that failed or were lost, and marks Jobs
// complete.
//
// Owned by sim::Cluster, driven by its loop; one thread at a time.
#pragma once

#include <memory>

#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"

namespace muster::sim {

class JobController {
 public:
  JobController(EventLoop& loop, ApiServer& api);
  ~JobController();
  JobController(const JobController&) = delete;
  JobController& operator=(const JobController&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::sim
