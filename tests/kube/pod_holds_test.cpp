// What a bound pod holds, as its status says. Each status that changes it, and those that do not.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

std::string List(const std::string& cpu, const std::string& memory) {
  return R"({"cpu":")" + cpu + R"(","memory":")" + memory + "\"}";
}
std::string Asks(const std::string& name, const std::string& cpu, const std::string& memory,
                 const std::string& more = "") {
  return R"({"name":")" + name + R"(","resources":{"requests":)" + List(cpu, memory) + "}" + more +
         "}";
}
std::string Has(const std::string& name, const std::string& allocated, const std::string& in_force,
                const std::string& more = "") {
  return R"({"name":")" + name + "\"" +
         (allocated.empty() ? "" : R"(,"allocatedResources":)" + allocated) +
         (in_force.empty() ? "" : R"(,"resources":{"requests":)" + in_force + "}") + more + "}";
}
std::string Statuses(const std::string& containers, const std::string& more = "") {
  return R"("phase":"Running","containerStatuses":[)" + containers + "]" + more;
}
std::string Pending(const std::string& reason) {
  return R"(,"conditions":[{"type":"PodScheduled","status":"True"},)"
         R"({"type":"PodResizePending","status":"True","reason":")" +
         reason + R"("}])";
}

cluster::Pod Decode(const std::string& spec, const std::string& status,
                    const std::string& node = "n0") {
  auto pod = DecodePod(R"({"metadata":{"name":"p","namespace":"d","uid":"u"},"spec":{)" +
                       (node.empty() ? "" : R"("nodeName":")" + node + "\",") + spec +
                       R"(},"status":{)" + status + "}}");
  REQUIRE(pod.ok());
  CHECK(pod->defect.empty());
  return *pod;
}

struct HeldCase {
  std::string name;
  std::string spec;  // containers
  std::string status;
  int64_t cpu;     // thousandths
  int64_t memory;  // MiB
};

const std::string kFour = R"("containers":[)" + Asks("a", "4", "4Gi") + "]";
const std::string kTwo = List("2", "2Gi");
const std::string kEight = List("8", "8Gi");

TEST_CASE("a pod that is resized in place holds the most of what it asks for and has",
          "[kube][resize]") {
  const HeldCase c = GENERATE(values<HeldCase>({
      {"nothing is said yet", kFour, R"("phase":"Pending")", 4000, 4096},
      {"it has what it asks for", kFour, Statuses(Has("a", List("4", "4Gi"), List("4", "4Gi"))),
       4000, 4096},
      {"to less: not done, so it is no free room", kFour, Statuses(Has("a", kEight, kEight)), 8000,
       8192},
      {"to less: allocated, and not yet in force", kFour,
       Statuses(Has("a", List("4", "4Gi"), kEight)), 8000, 8192},
      {"to more: not looked at yet", kFour, Statuses(Has("a", kTwo, kTwo)), 4000, 4096},
      {"to more: deferred, it will come", kFour,
       Statuses(Has("a", kTwo, kTwo), Pending("Deferred")), 4000, 4096},
      {"to more: never, so it holds what it has", kFour,
       Statuses(Has("a", kTwo, kTwo), Pending("Infeasible")), 2000, 2048},
      {"never, and what it has is being made less", kFour,
       Statuses(Has("a", kTwo, List("3", "1Gi")), Pending("Infeasible")), 3000, 2048},
      {"never, of a container that says nothing", kFour,
       Statuses(Has("a", "", ""), Pending("Infeasible")), 4000, 4096},
      {"what is allocated stands in for what is in force", kFour, Statuses(Has("a", kEight, "")),
       8000, 8192},
      {"each kind by itself", kFour, Statuses(Has("a", List("8", "2Gi"), List("8", "2Gi"))), 8000,
       4096},
      {"containers are summed",
       R"("containers":[)" + Asks("a", "4", "4Gi") + "," + Asks("b", "1", "1Gi") + "]",
       Statuses(Has("a", kEight, kEight)), 9000, 9216},
      {"sidecars are resized, too",
       R"("initContainers":[)" + Asks("s", "1", "1Gi", R"(,"restartPolicy":"Always")") + "]," +
           kFour,
       Statuses(Has("a", List("4", "4Gi"), List("4", "4Gi")),
                R"(,"initContainerStatuses":[)" + Has("s", kTwo, kTwo) + "]"),
       6000, 6144},
      {"an init container that has ended counts on",
       R"("initContainers":[)" + Asks("i", "9", "9Gi") + "]," + kFour,
       Statuses(Has("a", List("4", "4Gi"), List("4", "4Gi")),
                R"(,"initContainerStatuses":[)" +
                    Has("i", "", "", R"(,"state":{"terminated":{"exitCode":0}})") + "]"),
       9000, 9216},
      {"so does a sidecar that has",
       R"("initContainers":[)" + Asks("s", "1", "1Gi", R"(,"restartPolicy":"Always")") + "]," +
           kFour,
       Statuses(Has("a", List("4", "4Gi"), List("4", "4Gi")),
                R"(,"initContainerStatuses":[)" +
                    Has("s", List("1", "1Gi"), "", R"(,"state":{"terminated":{"exitCode":0}})") +
                    "]"),
       5000, 5120},
      {"and a container", kFour,
       Statuses(Has("a", List("4", "4Gi"), "", R"(,"state":{"terminated":{"exitCode":0}})")), 4000,
       4096},
      {"overhead comes on top", kFour + R"(,"overhead":{"cpu":"500m","memory":"512Mi"})",
       Statuses(Has("a", kEight, kEight)), 8500, 8704},
      {"a pod-level request is resized, too", kFour + R"(,"resources":{"requests":)" + kEight + "}",
       Statuses("", R"(,"allocatedResources":)" + List("9", "8Gi") +
                        R"(,"resources":{"requests":)" + List("9", "8Gi") + "}"),
       9000, 8192},
      {"and so deferred", kFour + R"(,"resources":{"requests":)" + kEight + "}",
       Statuses("", R"(,"allocatedResources":)" + kTwo + R"(,"resources":{"requests":)" + kTwo +
                        "}" + Pending("Deferred")),
       8000, 8192},
      {"or never", kFour + R"(,"resources":{"requests":)" + kEight + "}",
       Statuses("", R"(,"allocatedResources":)" + kTwo + R"(,"resources":{"requests":)" + kTwo +
                        "}" + Pending("Infeasible")),
       2000, 2048},
      {"the pod's own sums are those of all containers", kFour,
       Statuses("", R"(,"allocatedResources":)" + kEight + R"(,"resources":{"requests":)" + kEight +
                        "}"),
       8000, 8192},
      {"what is malformed does not count", kFour, Statuses(Has("a", List("lots", "8Gi"), "")), 4000,
       8192},
  }));
  CAPTURE(c.name);
  const cluster::Pod pod = Decode(c.spec, c.status);
  CHECK(pod.held().cpu.value() == c.cpu);
  CHECK(pod.held().memory.value() == c.memory);
  CHECK(pod.held().pods == 1);
  // Memory is used only where there is a difference.
  CHECK((pod.resized == nullptr) == (pod.held() == pod.spec->requests));
  CHECK(Decode(c.spec, c.status, "").resized == nullptr);
}

TEST_CASE("a pod that is being deleted holds all of it, one that has ended nothing",
          "[kube][resize]") {
  const std::string spec = R"("nodeName":"n0",)" + kFour;
  for (const char* phase : {"Pending", "Running", "Unknown"}) {
    auto pod = DecodePod(R"({"metadata":{"name":"p","namespace":"d","uid":"u",)"
                         R"("deletionTimestamp":"2026-08-21T06:20:39Z"},"spec":{)" +
                         spec + R"(},"status":{"phase":")" + std::string(phase) + R"("}})");
    REQUIRE(pod.ok());
    CHECK(pod->held().cpu.value() == 4000);
    CHECK_FALSE(pod->terminal());
  }
  for (const char* phase : {"Succeeded", "Failed"})
    CHECK(Decode(kFour, R"("phase":")" + std::string(phase) + "\"").terminal());
}

}  // namespace
}  // namespace muster::kube
