// What a pod demands of the pods around it, as the API says it.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"

namespace muster::kube::pod_rules {
namespace {

using cluster::HostPort;
using cluster::Pod;
using cluster::PodRules;
using cluster::PortProtocol;
using cluster::SelectorOperator;
using cluster::SelectorRequirement;

Pod Decode(const std::string& spec) {
  const cluster::Result<Pod> pod =
      DecodePod(R"({"metadata":{"name":"p","namespace":"team","uid":"u","labels":)"
                R"({"app":"x","hash":"1"}},"spec":)" +
                spec + "}");
  REQUIRE(pod.ok());
  return *pod;
}

SelectorRequirement Is(const std::string& key, const std::string& value) {
  return {key, SelectorOperator::kIn, {value}};
}

TEST_CASE("host ports are those of containers that stay", "[kube][pod][rules]") {
  const Pod pod = Decode(
      R"({"containers":[{"ports":[{"containerPort":80,"hostPort":8080},{"containerPort":81},)"
      R"({"containerPort":53,"hostPort":53,"protocol":"UDP","hostIP":"10.0.0.1"},)"
      R"({"containerPort":82,"hostPort":82,"hostIP":"0.0.0.0"}]}],)"
      R"("initContainers":[{"ports":[{"containerPort":1,"hostPort":1}]},)"
      R"({"restartPolicy":"Always","ports":[{"containerPort":2,"hostPort":2}]}]})");
  CHECK(pod.spec->rules.host_ports == std::vector<HostPort>{{PortProtocol::kTcp, 2, ""},
                                                            {PortProtocol::kTcp, 82, ""},
                                                            {PortProtocol::kTcp, 8080, ""},
                                                            {PortProtocol::kUdp, 53, "10.0.0.1"}});
  CHECK(pod.spec->rules.apart);
  const Pod host =
      Decode(R"({"hostNetwork":true,"containers":[{"ports":[{"containerPort":29500}]}]})");
  CHECK(host.spec->rules.host_ports == std::vector<HostPort>{{PortProtocol::kTcp, 29500, ""}});
}

TEST_CASE("required terms are read with their namespaces and with the pod's own labels",
          "[kube][pod][rules]") {
  const Pod pod =
      Decode(R"({"containers":[],"affinity":{"podAffinity":{)"
             R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}],)"
             R"("requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",)"
             R"("labelSelector":{"matchLabels":{"app":"cache"}},"namespaces":["b","a"],)"
             R"("namespaceSelector":{}}]},)"
             R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)"
             R"({"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchExpressions":)"
             R"([{"key":"app","operator":"In","values":["x"]}]},"matchLabelKeys":["hash","none"],)"
             R"("mismatchLabelKeys":["app"]},{"topologyKey":"zone"}]}}})");
  const PodRules& rules = pod.spec->rules;
  REQUIRE(rules.affinity.size() == 1);
  CHECK(rules.affinity[0].namespaces == std::vector<std::string>{"a", "b"});
  CHECK(rules.affinity[0].by_namespace_labels);
  CHECK(rules.affinity[0].namespace_labels.empty());
  CHECK(rules.affinity[0].pods.requirements ==
        std::vector<SelectorRequirement>{Is("app", "cache")});
  REQUIRE(rules.anti_affinity.size() == 2);
  CHECK(rules.anti_affinity[0].namespaces == std::vector<std::string>{"team"});
  CHECK(rules.anti_affinity[0].pods.requirements ==
        std::vector<SelectorRequirement>{
            Is("app", "x"), Is("hash", "1"), {"app", SelectorOperator::kNotIn, {"x"}}});
  CHECK_FALSE(rules.anti_affinity[0].pods.nobody);
  CHECK(rules.anti_affinity[1].pods.nobody);
  // Its own labels are not among those that it keeps away from.
  CHECK_FALSE(rules.apart);
}

TEST_CASE("a spread that must be kept is read, one that is preferred is not",
          "[kube][pod][rules]") {
  const Pod pod = Decode(
      R"({"containers":[],"topologySpreadConstraints":[)"
      R"({"maxSkew":2,"minDomains":3,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
      R"("labelSelector":{"matchLabels":{"app":"x"}},"matchLabelKeys":["hash"],)"
      R"("nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor"},)"
      R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"},)"
      R"({"maxSkew":1,"topologyKey":"host","whenUnsatisfiable":"DoNotSchedule"}]})");
  const auto& spread = pod.spec->rules.spread;
  REQUIRE(spread.size() == 2);
  CHECK(spread[0].max_skew == 2);
  CHECK(spread[0].min_domains == 3);
  CHECK_FALSE(spread[0].heeds_affinity);
  CHECK(spread[0].heeds_taints);
  CHECK(spread[0].pods.requirements ==
        std::vector<SelectorRequirement>{Is("app", "x"), Is("hash", "1")});
  CHECK(spread[1].min_domains == 1);
  CHECK(spread[1].heeds_affinity);
  CHECK_FALSE(spread[1].heeds_taints);
  CHECK(spread[1].pods.nobody);
}

TEST_CASE("rules and labels are written as they are read", "[kube][pod][rules]") {
  const Pod pod = Decode(
      R"({"containers":[{"ports":[{"containerPort":1,"hostPort":1,"protocol":"SCTP"}]}],)"
      R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)"
      R"({"topologyKey":"zone","labelSelector":{},"namespaceSelector":{"matchLabels":{"t":"r"}}}]},)"
      R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)"
      R"({"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"x"}}}]}},)"
      R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone",)"
      R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"x"}}}]})");
  CHECK(pod.defect.empty());
  CHECK(pod.spec->rules.apart);
  const auto again = DecodePod(EncodePod(pod));
  REQUIRE(again.ok());
  CHECK(again->spec->rules == pod.spec->rules);
  CHECK(again->labels == pod.labels);
  REQUIRE(pod.labels.Of("app") != nullptr);
  CHECK(*pod.labels.Of("app") == "x");
  CHECK(pod.labels.Of("other") == nullptr);
}

}  // namespace
}  // namespace muster::kube::pod_rules
