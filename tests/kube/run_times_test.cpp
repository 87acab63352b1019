// How long pods, Jobs and PodGroups say that they run.
#include "kube/dialects/run_times.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/decode.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {
namespace {

using cluster::Duration;
using cluster::RunTimes;
using cluster::Seconds;

RunTimes OfPod(const std::string& metadata, const std::string& spec = "") {
  const auto pod =
      DecodePod(R"({"kind":"Pod","metadata":{"name":"p","namespace":"d","uid":"u",)" + metadata +
                R"("labels":{"a":"b"}},"spec":{)" + spec + R"("priority":0}})");
  REQUIRE(pod.ok());
  CHECK(pod->defect.empty());
  return pod->run_times == nullptr ? RunTimes{} : *pod->run_times;
}

TEST_CASE("durations are read as Go writes them", "[kube][durations]") {
  struct Case {
    const char* text;
    int64_t milliseconds;
  };
  const auto good =
      GENERATE(Case{"90m", 5'400'000}, Case{"1h30m", 5'400'000}, Case{"1h0m0s", 3'600'000},
               Case{"1.5h", 5'400'000}, Case{"250ms", 250}, Case{".5s", 500});
  CAPTURE(good.text);
  REQUIRE(ParseGoDuration(good.text));
  CHECK(*ParseGoDuration(good.text) == Duration(good.milliseconds));
  CHECK(ParseGoDuration(FormatGoDuration(Duration(good.milliseconds))) ==
        Duration(good.milliseconds));
  const auto* bad =
      GENERATE("", "90", "m", "-5m", "1h-3m", "soon", "0s", "1d", "1 h", "99999999999h");
  CAPTURE(bad);
  CHECK_FALSE(ParseGoDuration(bad));
}

TEST_CASE("a pod says how long it is expected to run and when it is ended", "[kube][durations]") {
  CHECK(OfPod("").none());
  CHECK(OfPod(R"("annotations":{"muster.dev/expected-duration":"90m"},)") ==
        RunTimes{.declared = Seconds(5400)});
  CHECK(OfPod("", R"("activeDeadlineSeconds":600,)") == RunTimes{.enforced = Seconds(600)});
  CHECK(OfPod(R"("annotations":{"muster.dev/checkpoint":"true"},)") ==
        RunTimes{.checkpoints = true});
  CHECK(OfPod(R"("annotations":{"muster.dev/checkpoint":"no"},)").none());
  // The shorter one ends it.
  CHECK(OfPod(R"("annotations":{"kueue.x-k8s.io/max-exec-time-seconds":"300"},)",
              R"("activeDeadlineSeconds":600,)") == RunTimes{.enforced = Seconds(300)});
}

TEST_CASE("a duration that cannot be read is reported with its field, and the pod is accepted",
          "[kube][durations]") {
  CHECK(OfPod(R"("annotations":{"muster.dev/expected-duration":"soon"},)",
              R"("activeDeadlineSeconds":600,)") ==
        RunTimes{.enforced = Seconds(600),
                 .fault = "Pod.metadata.annotations[\"muster.dev/expected-duration\"]: expected a "
                          "duration such as 90m or 1h30m, found \"soon\""});
  CHECK(OfPod(R"("annotations":{"kueue.x-k8s.io/max-exec-time-seconds":"1h"},)").fault ==
        "Pod.metadata.annotations[\"kueue.x-k8s.io/max-exec-time-seconds\"]: expected a whole "
        "number of seconds above 0, found \"1h\"");
}

TEST_CASE("a Job and a PodGroup say it for all of their pods", "[kube][durations]") {
  const std::string meta =
      R"("metadata":{"name":"j","namespace":"d","uid":"u","labels":{"kueue.x-k8s.io/max-exec-time-seconds":"900"},)"
      R"("annotations":{"muster.dev/expected-duration":"10m"}})";
  const auto json = Json::Parse(R"({"kind":"Job","apiVersion":"batch/v1",)" + meta +
                                    R"(,"spec":{"activeDeadlineSeconds":1200}})",
                                1 << 20, "Job");
  REQUIRE(json.ok());
  const auto job = DecodeBatchJob(json->root());
  REQUIRE(job.ok());
  CHECK(job->job.run_times == RunTimes{.enforced = Seconds(900), .declared = Seconds(600)});
  const auto group =
      DecodePodGroup(R"({"kind":"PodGroup","apiVersion":"scheduling.x-k8s.io/v1alpha1",)" + meta +
                     R"(,"spec":{"minMember":2}})");
  REQUIRE(group.ok());
  CHECK(group->run_times == RunTimes{.enforced = Seconds(900), .declared = Seconds(600)});
}

TEST_CASE("a Job's deadline counts from the Job's start", "[kube][durations]") {
  const auto ends = [](const std::string& status) {
    const auto json = Json::Parse(
        R"({"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j","namespace":"d","uid":"u",)"
        R"("labels":{"kueue.x-k8s.io/max-exec-time-seconds":"900"}},)"
        R"("spec":{"activeDeadlineSeconds":3600},"status":)" +
            status + "}",
        1 << 20, "Job");
    REQUIRE(json.ok());
    const auto job = DecodeBatchJob(json->root());
    REQUIRE(job.ok());
    CHECK(job->job.run_times.enforced == Seconds(900));
    return job->job.run_times.ends_at;
  };
  const cluster::Time start(1'788'000'000'000);
  CHECK(ends(R"({"startTime":")" + FormatTimestamp(start) + R"("})") == start + Seconds(3600));
  // It is suspended, or its controller has not seen it.
  CHECK(ends("{}") == cluster::Time());
  CHECK(ends(R"({"startTime":null})") == cluster::Time());
  CHECK(ends(R"({"startTime":"soon"})") == cluster::Time());
}

}  // namespace
}  // namespace muster::kube
