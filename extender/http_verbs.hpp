// Puts ExtenderHandlers on an http::Server: POST /filter, /prioritize, /preempt and /bind, and
// GET /healthz. The only place where verbs meet HTTP.
//
// A held Bind blocks its handler's thread, which the server replaces (see http/server.hpp).
#pragma once

#include "extender/handlers.hpp"
#include "http/server.hpp"

namespace muster::extender {

inline constexpr const char* kFilterPath = "/filter";
inline constexpr const char* kPrioritizePath = "/prioritize";
inline constexpr const char* kPreemptPath = "/preempt";
inline constexpr const char* kBindPath = "/bind";

// Before server.Start(). `handlers` must outlive the server, and RefuseOpenBinds must come before
// the server's Stop, which waits for held calls.
void MountExtenderVerbs(http::Server& server, ExtenderHandlers& handlers);

}  // namespace muster::extender
