#include "extender/live/cluster_metrics.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace muster::extender {
namespace {

TEST_CASE("calls, watches and leadership are shown, and counters only rise", "[metrics]") {
  ClusterMetrics metrics;
  ClusterReadings readings;
  readings.leading = true;
  readings.feed = {{"pods", true, 2, std::chrono::milliseconds(1500)}};
  readings.calls.lanes[1].by_class[2] = 7;
  readings.admission = {5, 4, 3};
  readings.missed_pods = 2;
  std::string page = metrics.Text(readings);
  for (const char* line :
       {"muster_api_calls_total{code=\"2xx\",lane=\"bind\"} 7",
        "muster_watch_age_seconds{resource=\"pods\"} 1.5",
        "muster_lists_total{resource=\"pods\"} 2", "muster_leader 1",
        "muster_admission_reviews_total{result=\"changed\"} 5",
        "muster_admission_reviews_total{result=\"unchanged\"} 4",
        "muster_admission_reviews_total{result=\"malformed\"} 3", "muster_missed_pods_total 2"}) {
    CHECK_THAT(page, Catch::Contains(line));
  }
  readings.leading = false;
  readings.calls.lanes[1].by_class[2] = 6;  // read in another order
  page = metrics.Text(readings);
  CHECK_THAT(page, Catch::Contains("lane=\"bind\"} 7"));
  CHECK_THAT(page, Catch::Contains("muster_leader 0"));
}

}  // namespace
}  // namespace muster::extender
