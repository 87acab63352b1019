// How a pod's start went, as the kubelet's status says.
#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {
namespace {

using cluster::Duration;
using cluster::Pod;
using cluster::Seconds;
using cluster::Time;

Pod WithStatus(const std::string& status) {
  const cluster::Result<Pod> pod =
      DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","resourceVersion":"7",)"
                R"("creationTimestamp":"2026-01-01T00:00:00Z"},)"
                R"("spec":{"nodeName":"node","containers":[{"name":"c"}]},"status":)" +
                    status + "}",
                DecodeOptions{});
  REQUIRE(pod.ok());
  CHECK(pod->defect.empty());
  return *pod;
}

Time At(const std::string& text) { return *ParseTimestamp(text); }

std::string Ended(const std::string& code, const std::string& reason, const std::string& started,
                  const std::string& finished) {
  return R"({"terminated":{"exitCode":)" + code + R"(,"reason":")" + reason + R"(","startedAt":")" +
         started + R"(","finishedAt":")" + finished + R"("}})";
}

TEST_CASE("a pod that the kubelet did not admit", "[kube][start]") {
  const std::string reason = GENERATE("UnexpectedAdmissionError", "OutOfcpu", "OutOfnvidia.com/gpu",
                                      "NodeAffinity", "TopologyAffinityError", "NodeShutdown");
  CAPTURE(reason);
  const Pod pod = WithStatus(R"({"phase":"Failed","reason":")" + reason +
                             R"(","message":"Pod was rejected: Allocate failed due to rpc error",)"
                             R"("startTime":"2026-01-01T00:01:00Z"})");
  REQUIRE(pod.start_failure != nullptr);
  CHECK(pod.start_failure->admission);
  CHECK(pod.start_failure->reason == reason);
  CHECK(pod.start_failure->at == At("2026-01-01T00:01:00Z"));
  CHECK(pod.start_failure->ran == Duration(0));
  CHECK(pod.running_since == Time());
}

TEST_CASE("where a rejected pod has no start time, its creation is the time", "[kube][start]") {
  const Pod pod = WithStatus(R"({"phase":"Failed","reason":"UnexpectedAdmissionError"})");
  REQUIRE(pod.start_failure != nullptr);
  CHECK(pod.start_failure->at == At("2026-01-01T00:00:00Z"));
}

TEST_CASE("what is about the pod, or stopped it later, is no failed start", "[kube][start]") {
  const std::string ran = R"(,"containerStatuses":[{"restartCount":0,"state":)" +
                          Ended("137", "Error", "2026-01-01T00:01:00Z", "2026-01-01T00:01:02Z") +
                          "}]}";
  CHECK(WithStatus(R"({"phase":"Failed","reason":"SysctlForbidden"})").start_failure == nullptr);
  CHECK(WithStatus(R"({"phase":"Failed","reason":"AppArmor"})").start_failure == nullptr);
  CHECK(WithStatus(R"({"phase":"Failed"})").start_failure == nullptr);
  CHECK(WithStatus(R"({"phase":"Running","reason":"UnexpectedAdmissionError"})").start_failure ==
        nullptr);
  CHECK(WithStatus(R"({"phase":"Failed","reason":"Evicted")" + ran).start_failure == nullptr);
  CHECK(WithStatus(R"({"phase":"Failed","reason":"NodeShutdown")" + ran).start_failure == nullptr);
  CHECK(WithStatus(R"({"phase":"Failed","reason":"DeadlineExceeded"})").start_failure == nullptr);
  CHECK(WithStatus("null").start_failure == nullptr);
}

TEST_CASE("a container that fails in its first run", "[kube][start]") {
  const std::string first = Ended("1", "Error", "2026-01-01T00:05:00Z", "2026-01-01T00:05:03Z");
  const std::string second = Ended("2", "Error", "2026-01-01T00:06:00Z", "2026-01-01T00:06:01Z");
  struct Case {
    std::string name;
    std::string container;
    bool fails;
  };
  const Case c = GENERATE_COPY(values<Case>({
      {"it ended", R"("restartCount":0,"state":)" + first, true},
      {"it waits to be started again",
       R"("restartCount":1,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":)" + first,
       true},
      {"it runs again", R"("restartCount":1,"state":{"running":{}},"lastState":)" + first, true},
      {"it ended again", R"("restartCount":1,"state":)" + second + R"(,"lastState":)" + first,
       true},
      {"its first run is forgotten", R"("restartCount":2,"lastState":)" + second, false},
      {"it succeeded",
       R"("restartCount":0,"state":)" +
           Ended("0", "Completed", "2026-01-01T00:05:00Z", "2026-01-01T00:05:03Z"),
       false},
      {"it never said when", R"("restartCount":0,"state":{"terminated":{"exitCode":1}})", false},
  }));
  const bool init = GENERATE(false, true);
  DYNAMIC_SECTION(c.name << (init ? ", before the others" : "")) {
    const std::string list = init ? "initContainerStatuses" : "containerStatuses";
    const Pod pod = WithStatus(R"({"phase":"Running",")" + list + R"(":[{)" + c.container + "}]}");
    REQUIRE((pod.start_failure != nullptr) == c.fails);
    if (!c.fails) return;
    CHECK_FALSE(pod.start_failure->admission);
    CHECK(pod.start_failure->reason == "Error");
    CHECK(pod.start_failure->at == At("2026-01-01T00:05:03Z"));
    CHECK(pod.start_failure->ran == Seconds(3));
  }
}

TEST_CASE("a container that could not be begun ran for no time", "[kube][start]") {
  const Pod pod = WithStatus(
      R"({"phase":"Failed","containerStatuses":[{"restartCount":0,"state":)" +
      Ended("128", "StartError", "1970-01-01T00:00:00Z", "2026-01-01T00:05:03Z") + "}]}");
  REQUIRE(pod.start_failure != nullptr);
  CHECK(pod.start_failure->reason == "StartError");
  CHECK(pod.start_failure->ran == Duration(0));
}

TEST_CASE("of several containers the one that failed first counts", "[kube][start]") {
  const Pod pod = WithStatus(
      R"({"phase":"Failed","containerStatuses":[{"state":)" +
      Ended("143", "Error", "2026-01-01T00:05:00Z", "2026-01-01T00:05:09Z") + R"(},{"state":)" +
      Ended("1", "OOMKilled", "2026-01-01T00:05:00Z", "2026-01-01T00:05:02Z") + R"(},{"state":)" +
      Ended("1", "Error", "2026-01-01T00:05:00Z", "2026-01-01T00:05:04Z") + "}]}");
  REQUIRE(pod.start_failure != nullptr);
  CHECK(pod.start_failure->reason == "OOMKilled");
  CHECK(pod.start_failure->ran == Seconds(2));
}

TEST_CASE("a pod runs since the last of its containers does", "[kube][start]") {
  const std::string first = R"({"state":{"running":{"startedAt":"2026-01-01T00:05:00Z"}}})";
  const std::string last = R"({"state":{"running":{"startedAt":"2026-01-01T00:06:00Z"}}})";
  const std::string done = R"({"state":)" +
                           Ended("0", "Completed", "2026-01-01T00:04:00Z", "2026-01-01T00:07:00Z") +
                           "}";
  const std::string waits = R"({"state":{"waiting":{"reason":"ContainerCreating"}}})";
  const auto since = [](const std::string& phase, const std::string& containers) {
    return WithStatus(R"({"phase":")" + phase + R"(","containerStatuses":[)" + containers + "]}")
        .running_since;
  };
  CHECK(since("Running", first + "," + last) == At("2026-01-01T00:06:00Z"));
  CHECK(since("Running", first + "," + done) == At("2026-01-01T00:05:00Z"));
  CHECK(since("Succeeded", done) == At("2026-01-01T00:04:00Z"));
  CHECK(since("Running", first + "," + waits) == Time());
  CHECK(since("Pending", first) == Time());
  CHECK(since("Failed", done) == Time());
}

TEST_CASE("how a pod's start went survives encoding", "[kube][start]") {
  const std::string container = R"("restartCount":0,"state":)" +
                                Ended("1", "Error", "2026-01-01T00:05:00Z", "2026-01-01T00:05:03Z");
  const std::string status = GENERATE_COPY(
      std::string(R"({"phase":"Failed","reason":"OutOfcpu","startTime":"2026-01-01T00:01:00Z"})"),
      R"({"phase":"Failed","containerStatuses":[{)" + container + "}]}",
      R"({"phase":"Running","containerStatuses":[{)" + container + "}]}",
      std::string(R"({"phase":"Running","containerStatuses":[{"state":{"running":)"
                  R"({"startedAt":"2026-01-01T00:05:00Z"}}}]})"),
      R"({"phase":"Succeeded","containerStatuses":[{"state":)" +
          Ended("0", "Completed", "2026-01-01T00:04:00Z", "2026-01-01T00:07:00Z") + "}]}");
  CAPTURE(status);
  const Pod pod = WithStatus(status);
  std::string text;
  AppendPod(text, pod);
  const cluster::Result<Pod> again = DecodePod(text, DecodeOptions{});
  REQUIRE(again.ok());
  CHECK(again->running_since == pod.running_since);
  REQUIRE((again->start_failure == nullptr) == (pod.start_failure == nullptr));
  if (pod.start_failure != nullptr) CHECK(*again->start_failure == *pod.start_failure);
}

}  // namespace
}  // namespace muster::kube
