// WhatIfPage: POST /v1/whatif. What would become of a workload, or under another policy of what
// waits now? Changes nothing. Any thread; answers one question at a time.
//
// It costs the leader seconds of a processor and tells of everybody's gangs, so callers need a
// right: create whatifs of group muster.dev (caller_access.hpp).
//
//   {"manifests": [{"name": "FILE", "text": "…"}, …], "policy": {"name": "FILE", "text": "…"}}
//     One of both at least. Manifests as `muster submit` reads them; Nodes may be among them.
//   The page of what_if_json.hpp.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "cluster/base/result.hpp"
#include "engine/scheduler.hpp"
#include "extender/verbs/caller_access.hpp"
#include "http/messages/message.hpp"
#include "kube/owners/grouping_book.hpp"

namespace muster::extender {

inline constexpr std::size_t kMaxWhatIfBytes = std::size_t{4} << 20U;

class WhatIfPage {
 public:
  struct Ports {
    const engine::Scheduler& scheduler;
    std::function<cluster::Time()> now;
    std::function<kube::GroupingSettings()> grouping;  // in force
    const CallerAccess& access;
  };

  explicit WhatIfPage(Ports ports) : ports_(std::move(ports)) {}
  ~WhatIfPage() = default;
  WhatIfPage(const WhatIfPage&) = delete;
  WhatIfPage& operator=(const WhatIfPage&) = delete;

  // The page, or what is wrong with the request or its caller; kUnavailable while another question
  // is answered.
  cluster::Result<std::string> Answer(const http::Request& request);

 private:
  cluster::Result<std::string> TryAnswer(const http::Request& request) const;

  const Ports ports_;
  std::atomic<bool> busy_{false};
};

}  // namespace muster::extender
