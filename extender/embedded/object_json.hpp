// JSON of the simulated API server's objects, as /v1/objects and the answer to a submission show
// them. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "extender/embedded/manifests.hpp"
#include "sim/api_server/api_server.hpp"

namespace muster::extender {

// {"<kind>": [{namespace, name, …}]} for nodes, pods, podgroups, jobs or events; nothing for
// another kind.
std::optional<std::string> ObjectsJson(const sim::ApiServer& api, std::string_view kind);
// {"created": [{kind, namespace, name}], "warnings": ["…"]}
std::string CreatedJson(const Manifests& manifests);

}  // namespace muster::extender
