// A host whose clock runs ahead of the API server's: that one's time counts.
#include <httplib.h>

#include <catch2/catch.hpp>

#include "extender/live/cluster_access.hpp"
#include "tests/kube/api_server_support.hpp"

namespace muster::extender {
namespace {

TEST_CASE("how far the host's clock runs ahead is known by an answer of the API server",
          "[access][clock]") {
  kube::testing::TestServer server;
  server.routes().Get("/version", [](const httplib::Request&, httplib::Response& reply) {
    reply.set_header("Date", "Fri, 15 Jan 2027 08:00:00 GMT");
    reply.set_content("{}", "application/json");
  });
  server.Start();
  const auto ahead = [&](int64_t milliseconds) {
    const cluster::Time now(1'800'000'000'000 + milliseconds);  // of that date
    return RunsAhead(server.Config(), [now] { return now; }).value();
  };
  CHECK(ahead(600'000) == 599'001);
  CHECK(ahead(1'000) == 1);
  // Within the second that the server left out, and behind.
  CHECK(ahead(999) == 0);
  CHECK(ahead(-600'000) == 0);
}

TEST_CASE("a server that says no time changes no clock", "[access][clock]") {
  kube::testing::TestServer server;
  server.routes().Get("/version", [](const httplib::Request&, httplib::Response& reply) {
    reply.set_content("{}", "application/json");
  });
  const auto ahead = [&] {
    return RunsAhead(server.Config(), [] { return cluster::Time(1'800'000'000'000); }).value();
  };
  server.Start();
  CHECK(ahead() == 0);
}

}  // namespace
}  // namespace muster::extender
