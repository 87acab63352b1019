#include "extender/live/cluster_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <chrono>
#include <utility>

#include "cluster/base/mutex.hpp"

namespace muster::extender {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;

constexpr std::array<const char*, kube::kLanes> kLaneNames = {"lease", "bind",  "gang",  "report",
                                                              "list",  "owner", "review"};
constexpr std::array<const char*, 6> kClassNames = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};

// Counted elsewhere; a reading that is behind adds nothing.
void Advance(prometheus::Counter& counter, double total) {
  const double more = total - counter.Value();
  if (more > 0) counter.Increment(more);
}

}  // namespace

class ClusterMetrics::Impl {
 public:
  std::string Text(const ClusterReadings& readings) {
    const cluster::MutexLock lock(mu_);
    for (std::size_t lane = 0; lane < kLaneNames.size(); ++lane) {
      const kube::ApiClientStats::Of& of = readings.calls.lanes[lane];
      for (std::size_t kind = 0; kind < kClassNames.size(); ++kind) {
        Advance(calls_.Add({{"lane", kLaneNames[lane]}, {"code", kClassNames[kind]}}),
                static_cast<double>(of.by_class[kind]));
      }
      in_flight_.Add({{"lane", kLaneNames[lane]}}).Set(of.in_flight);
      waiting_.Add({{"lane", kLaneNames[lane]}}).Set(of.waiting);
      Advance(waited_.Add({{"lane", kLaneNames[lane]}}),
              std::chrono::duration<double>(of.waited).count());
    }
    Advance(connections_.Add({}), static_cast<double>(readings.calls.connections_opened));
    for (const kube::FeedHealth& feed : readings.feed) {
      age_.Add({{"resource", feed.resource}}).Set(std::chrono::duration<double>(feed.age).count());
      synced_.Add({{"resource", feed.resource}}).Set(feed.synced ? 1 : 0);
      Advance(lists_.Add({{"resource", feed.resource}}), static_cast<double>(feed.lists));
    }
    leader_.Add({}).Set(readings.leading ? 1 : 0);
    const AdmissionCounts& reviews = readings.admission;
    for (const auto& [result, count] :
         {std::pair("changed", reviews.changed), std::pair("unchanged", reviews.unchanged),
          std::pair("malformed", reviews.malformed)}) {
      Advance(reviews_.Add({{"result", result}}), static_cast<double>(count));
    }
    Advance(missed_.Add({}), static_cast<double>(readings.missed_pods));
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  cluster::Mutex mu_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& calls_ =
      BuildCounter()
          .Name("muster_api_calls_total")
          .Help("Calls of the API server by lane and class of status; none: no answer")
          .Register(registry_);
  prometheus::Family<prometheus::Gauge>& in_flight_ = BuildGauge()
                                                          .Name("muster_api_calls_in_flight")
                                                          .Help("Calls of the API server under way")
                                                          .Register(registry_);
  prometheus::Family<prometheus::Gauge>& waiting_ =
      BuildGauge()
          .Name("muster_api_calls_waiting")
          .Help("Calls that wait for the rate of their lane")
          .Register(registry_);
  prometheus::Family<prometheus::Counter>& waited_ =
      BuildCounter()
          .Name("muster_api_wait_seconds_total")
          .Help("Time that calls waited for the rate of their lane")
          .Register(registry_);
  prometheus::Family<prometheus::Counter>& connections_ =
      BuildCounter()
          .Name("muster_api_connections_opened_total")
          .Help("Connections to the API server, watches included")
          .Register(registry_);
  prometheus::Family<prometheus::Gauge>& age_ =
      BuildGauge()
          .Name("muster_watch_age_seconds")
          .Help("Since the API server last said anything on a resource")
          .Register(registry_);
  prometheus::Family<prometheus::Gauge>& synced_ =
      BuildGauge()
          .Name("muster_watch_synced")
          .Help("1 when a resource was listed whole at least once")
          .Register(registry_);
  prometheus::Family<prometheus::Counter>& lists_ =
      BuildCounter()
          .Name("muster_lists_total")
          .Help("Times that a resource was listed whole")
          .Register(registry_);
  prometheus::Family<prometheus::Counter>& reviews_ =
      BuildCounter()
          .Name("muster_admission_reviews_total")
          .Help("Pods that the API server asked the webhook about, by what it did to them")
          .Register(registry_);
  prometheus::Family<prometheus::Counter>& missed_ =
      BuildCounter()
          .Name("muster_missed_pods_total")
          .Help("Pods of labelled namespaces that nobody took for Muster at their creation")
          .Register(registry_);
  prometheus::Family<prometheus::Gauge>& leader_ =
      BuildGauge().Name("muster_leader").Help("1 when this replica decides").Register(registry_);
};

ClusterMetrics::ClusterMetrics() : impl_(std::make_unique<Impl>()) {}
ClusterMetrics::~ClusterMetrics() = default;

std::string ClusterMetrics::Text(const ClusterReadings& readings) { return impl_->Text(readings); }

}  // namespace muster::extender
