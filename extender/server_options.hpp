// What a policy file says about the two servers, as the options of http::Server. Pure functions.
#pragma once

#include "cluster/base/result.hpp"
#include "config/policies/extender_settings.hpp"
#include "http/server/server.hpp"

namespace muster::extender {

cluster::Result<http::ServerOptions> ExtenderServerOptions(
    const config::ExtenderSettings& settings);
cluster::Result<http::ServerOptions> ApiServerOptions(const config::MetricsSettings& settings);

}  // namespace muster::extender
