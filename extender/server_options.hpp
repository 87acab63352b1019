// What a policy file says about the two servers, as the options of HttpServer. Pure functions.
#pragma once

#include "cluster/result.hpp"
#include "config/extender_settings.hpp"
#include "extender/http_server.hpp"

namespace muster::extender {

cluster::Result<HttpServerOptions> ExtenderServerOptions(const config::ExtenderSettings& settings);
cluster::Result<HttpServerOptions> ApiServerOptions(const config::MetricsSettings& settings);

}  // namespace muster::extender
