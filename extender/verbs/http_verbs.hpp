// Puts ExtenderHandlers on an http::Server: POST /filter, /prioritize, /preempt and /bind, and
// GET /healthz. The only place where verbs meet HTTP.
//
// A held Bind costs no thread: the engine's answer goes to the socket from where it is delivered.
#pragma once

#include "extender/verbs/handlers.hpp"
#include "http/server/server.hpp"

namespace muster::extender {

inline constexpr const char* kFilterPath = "/filter";
inline constexpr const char* kPrioritizePath = "/prioritize";
inline constexpr const char* kPreemptPath = "/preempt";
inline constexpr const char* kBindPath = "/bind";

// Before server.Start(). `handlers` must outlive the server. Calls that are held when the server
// stops get no answer: RefuseOpenBinds and Drain come first.
void MountExtenderVerbs(http::Server& server, ExtenderHandlers& handlers);

}  // namespace muster::extender
