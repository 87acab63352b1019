// Which roles of a gang are to be in a domain of their own, by what each system writes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

using cluster::PodGroup;
using cluster::TopologySubgroup;
using cluster::TopologyTerms;

PodGroup Decode(const std::string& api, const std::string& annotations, const std::string& spec) {
  const auto group =
      DecodePodGroup(R"({"apiVersion":")" + api + R"(","kind":")" +
                     (api.starts_with("scheduler.grove.io") ? "PodGang" : "PodGroup") +
                     R"(","metadata":{"name":"g","namespace":"default","uid":"u",)" +
                     R"("annotations":{)" + annotations + R"(}},"spec":{)" + spec + "}}");
  REQUIRE(group.ok());
  return *group;
}

PodGroup OfRoles(const std::string& required, const std::string& preferred = "") {
  return Decode("scheduling.x-k8s.io/v1alpha1",
                R"("muster.dev/topology-roles-required":")" + required +
                    R"(","muster.dev/topology-roles-preferred":")" + preferred + "\"",
                R"("minMember":8)");
}

TEST_CASE("roles are named beside their level, those with more roles first", "[kube][subgroups]") {
  const PodGroup group = OfRoles("rack=prefill,block=decode+prefill", "nvl=prefill");
  CHECK(group.defect.empty());
  CHECK(group.topology.subgroups ==
        std::vector<TopologySubgroup>{{"decode+prefill", {"decode", "prefill"}, "block", ""},
                                      {"prefill", {"prefill"}, "rack", "nvl"}});
  CHECK(group.topology.required.empty());
  CHECK(group.topology.said_by.empty());
  // Their order does not matter.
  CHECK(OfRoles("block=prefill+decode,rack=prefill", "nvl=prefill") == group);
  // Roles that are named twice count once.
  CHECK(OfRoles("rack=a+b+a").topology.subgroups.front().roles ==
        std::vector<std::string>{"a", "b"});
}

TEST_CASE("a malformed list of roles is refused with its place", "[kube][subgroups]") {
  const std::string place =
      R"(PodGroup.metadata.annotations["muster.dev/topology-roles-required"]: )";
  for (const std::string wrong : {"rack", "=a", "rack=", "rack=+", "rack=a+", "rack=a,,"}) {
    INFO(wrong);
    CHECK(OfRoles(wrong).defect.starts_with(place + "expected LEVEL=ROLE or LEVEL=ROLE+ROLE"));
  }
  CHECK(OfRoles("rack=a,block=a").defect == place + "names a level of a twice");
  std::string many;
  for (int i = 0; i < 257; ++i) many += "rack=r" + std::to_string(i) + ",";
  CHECK(OfRoles(many.substr(0, many.size() - 1)).defect ==
        place + "more than 256 subgroups with a level");
}

TEST_CASE("KAI's subgroups have the constraints of their own and those of their parents",
          "[kube][subgroups]") {
  const PodGroup group = Decode(
      "scheduling.run.ai/v2alpha2", "",
      R"("topologyConstraint":{"topology":"t","requiredTopologyLevel":"zone"},"subGroups":[)"
      R"({"name":"model","topologyConstraint":{"requiredTopologyLevel":"block"}},)"
      R"({"name":"decode","parent":"model","minMember":3,)"
      R"("topologyConstraint":{"requiredTopologyLevel":"rack","preferredTopologyLevel":"host"}},)"
      R"({"name":"prefill","parent":"model","minMember":4},{"name":"router","minMember":1}])");
  CHECK(group.defect.empty());
  CHECK(group.topology.required == "zone");
  CHECK(group.topology.subgroups ==
        std::vector<TopologySubgroup>{{"model", {"decode", "prefill"}, "block", ""},
                                      {"decode", {"decode"}, "rack", "host"}});
  CHECK(group.min_member == 8);
}

// The text of KAI's subgroups c0, c1 in c0, c2 in c1, …; those before `levelled` have a level, and
// in the last one are `leaves` more.
std::string KaiChain(int length, int levelled, int leaves = 0) {
  std::string text = R"("subGroups":[)";
  for (int i = 0; i < length + leaves; ++i) {
    text += (i == 0 ? R"({"name":"c)" : R"(,{"name":"c)") + std::to_string(i);
    if (i > 0) text += R"(","parent":"c)" + std::to_string(std::min(i, length) - 1);
    text += i < levelled ? R"(","topologyConstraint":{"requiredTopologyLevel":"rack"}})" : "\"}";
  }
  return text + "]";
}

TEST_CASE("a long chain of KAI's subgroups takes room for those with a level only",
          "[kube][subgroups]") {
  const std::string api = "scheduling.run.ai/v2alpha2";
  const PodGroup deep = Decode(api, "", KaiChain(4'000, 2));
  CHECK(deep.defect.empty());
  CHECK(deep.topology.subgroups ==
        std::vector<TopologySubgroup>{{"c0", {"c3999"}, "rack", ""}, {"c1", {"c3999"}, "rack"}});
  CHECK(Decode(api, "", KaiChain(256, 256)).topology.subgroups.size() == 256);
  CHECK(Decode(api, "", KaiChain(4'000, 257)).defect ==
        "PodGroup.spec.subGroups: more than 256 subgroups with a level");
}

TEST_CASE("the roles of KAI's nested subgroups are bounded together", "[kube][subgroups]") {
  const std::string api = "scheduling.run.ai/v2alpha2";
  const PodGroup fits = Decode(api, "", KaiChain(100, 100, 900));
  CHECK(fits.defect.empty());
  REQUIRE(fits.topology.subgroups.size() == 100);
  CHECK(fits.topology.subgroups.back().roles.size() == 900);
  const PodGroup beyond = Decode(api, "", KaiChain(256, 256, 900));
  CHECK(beyond.defect ==
        "PodGroup.spec.subGroups: nested too deep: the names of all roles of those with a level "
        "take more than 4096 KiB");
  CHECK(beyond.topology.subgroups.empty());
}

TEST_CASE("KAI's subgroups around one another are refused and end", "[kube][subgroups]") {
  const PodGroup group = Decode(
      "scheduling.run.ai/v2alpha2", "",
      R"("subGroups":[{"name":"a","parent":"b","topologyConstraint":{"requiredTopologyLevel":"r"}},)"
      R"({"name":"b","parent":"a","topologyConstraint":{"requiredTopologyLevel":"r"}},)"
      R"({"name":"c","parent":"a","minMember":1}])");
  CHECK(group.defect ==
        "PodGroup.spec.subGroups[0].parent: does not lead to a subgroup without parent");
}

TEST_CASE("subgroups of a PodGroup whose annotations say where the gang is to be",
          "[kube][subgroups]") {
  const std::string spec = R"("minMember":2,"subGroups":[{"name":"a","minMember":2,)"
                           R"("topologyConstraint":{"requiredTopologyLevel":"rack"}}])";
  const TopologyTerms kai = Decode("scheduling.run.ai/v2alpha2",
                                   R"("kai.scheduler/topology-required-placement":"block")", spec)
                                .topology;
  CHECK(kai.required == "block");
  CHECK(kai.subgroups.size() == 1);
  // Muster's own annotations count alone.
  const TopologyTerms ours =
      Decode("scheduling.run.ai/v2alpha2", R"("muster.dev/topology-required":"block")", spec)
          .topology;
  CHECK(ours.required == "block");
  CHECK(ours.subgroups.empty());
}

TEST_CASE("Volcano's policies of subgroups: a task in one domain, or in partitions",
          "[kube][subgroups]") {
  const PodGroup group = Decode(
      "scheduling.volcano.sh/v1beta1", "",
      R"("minMember":9,"networkTopology":{"mode":"hard","highestTierAllowed":3},"subGroupPolicy":[)"
      R"({"name":"t0","subGroupSize":4,"labelSelector":{"matchLabels":{"volcano.sh/task-spec":"task0"}},)"
      R"("matchLabelKeys":["volcano.sh/partition-id"],"networkTopology":{"mode":"hard","highestTierAllowed":1}},)"
      R"({"name":"task1","networkTopology":{"mode":"soft","highestTierName":"leaf"}},{"name":"task2"}])");
  CHECK(group.defect.empty());
  CHECK(group.topology.required == "tier-3");
  CHECK(group.topology.subgroups ==
        std::vector<TopologySubgroup>{{"t0", {"task0"}, "", "", {{"tier-1", 4, true}}},
                                      {"task1", {"task1"}, "", "leaf"}});
}

TEST_CASE(
    "a policy of Volcano's whose pods Muster cannot know is refused, or ignored where it is soft",
    "[kube][subgroups]") {
  struct Case {
    std::string fields;
    std::string problem;
  };
  const std::string task = R"(expected matchLabels["volcano.sh/task-spec"]: Muster knows the pods )"
                           "of a policy with networkTopology by their task";
  const Case one = GENERATE_COPY(
      Case{R"("name":"p","labelSelector":{"matchLabels":{"app":"x"}})", ".labelSelector: " + task},
      Case{R"("name":"p","labelSelector":{"matchExpressions":[{"key":"a","operator":"Exists"}]})",
           ".labelSelector: " + task},
      Case{R"("name":"p","labelSelector":{})", ".labelSelector: " + task},
      Case{R"("matchLabelKeys":["role"],"subGroupSize":2)", ".labelSelector: " + task},
      Case{R"("name":"p","matchLabelKeys":["volcano.sh/partition-id"])",
           ".subGroupSize: is missing: with matchLabelKeys, Muster places pieces of this size"});
  const auto decode = [&](const std::string& mode, const std::string& annotations = "") {
    return Decode("scheduling.volcano.sh/v1beta1", annotations,
                  R"("minMember":2,"subGroupPolicy":[{)" + one.fields +
                      R"(,"networkTopology":{"mode":")" + mode + R"(","highestTierAllowed":1}}])");
  };
  const PodGroup hard = decode("hard");
  CHECK(hard.defect == "PodGroup.spec.subGroupPolicy[0]" + one.problem);
  CHECK(hard.topology.subgroups.empty());
  CHECK(decode("soft").defect.empty());
  CHECK(decode("soft").topology.none());
  // Muster's own annotations count alone.
  CHECK(decode("hard", R"("muster.dev/topology-required":"block")").defect.empty());
}

TEST_CASE("Grove's PodGangs: a constraint of the gang, of groups of cliques, and of cliques",
          "[kube][subgroups]") {
  const PodGroup group = Decode(
      "scheduler.grove.io/v1alpha1", "",
      R"("topologyConstraint":{"packConstraint":{"required":"example.com/block"}},)"
      R"("podgroups":[{"name":"p","minReplicas":2,"podReferences":[{"namespace":"n","name":"p-0"}],)"
      R"("topologyConstraint":{"packConstraint":{"preferred":"example.com/rack"}}},)"
      R"({"name":"d","minReplicas":1},{"name":"r","minReplicas":1}],)"
      R"("topologyConstraintGroupConfigs":[{"name":"model","podGroupNames":["p","d"],)"
      R"("topologyConstraint":{"packConstraint":{"required":"example.com/rack"}}}])");
  CHECK(group.defect.empty());
  CHECK(group.min_member == 4);
  CHECK(group.topology.required == "example.com/block");
  CHECK(group.topology.said_by == "packConstraint");
  CHECK(group.topology.subgroups ==
        std::vector<TopologySubgroup>{{"model", {"d", "p"}, "example.com/rack", ""},
                                      {"p", {"p"}, "", "example.com/rack"}});
}

TEST_CASE("Koordinator's gather strategies are a level that is required and one that is preferred",
          "[kube][subgroups]") {
  const auto decode = [](const std::string& json) {
    return Decode("scheduling.sigs.k8s.io/v1alpha1",
                  R"("gang.scheduling.koordinator.sh/network-topology-spec":")" + json + "\"",
                  R"("minMember":4)");
  };
  const PodGroup both =
      decode(R"({\"gatherStrategy\":[{\"layer\":\"BlockLayer\",\"strategy\":\"PreferGather\"},)"
             R"({\"layer\":\"SpineLayer\",\"strategy\":\"MustGather\"}]})");
  CHECK(both.defect.empty());
  CHECK(both.topology.required == "SpineLayer");
  CHECK(both.topology.preferred == "BlockLayer");
  // With two preferred layers the innermost comes first.
  CHECK(decode(R"({\"gatherStrategy\":[{\"layer\":\"a\",\"strategy\":\"PreferGather\"},)"
               R"({\"layer\":\"b\",\"strategy\":\"PreferGather\"}]})")
            .topology.preferred == "a");
  const std::string place =
      R"(PodGroup.metadata.annotations["gang.scheduling.koordinator.sh/network-topology-spec"])";
  CHECK(decode(R"({\"gatherStrategy\":[{\"layer\":\"a\",\"strategy\":\"Gather\"}]})").defect ==
        place + ".spec.gatherStrategy[0].strategy: expected MustGather or PreferGather");
  CHECK(decode("{").defect.starts_with(place));
}

TEST_CASE("pods of a PodGang have its name and the role of their clique", "[kube][subgroups]") {
  const auto pod = DecodePod(
      R"({"metadata":{"name":"p","namespace":"n","uid":"u","labels":{"grove.io/podgang":"gang-0",)"
      R"("grove.io/podclique":"gang-0-prefill"}},"spec":{"containers":[{"name":"c"}]}})");
  REQUIRE(pod.ok());
  CHECK(pod->pod_group == "gang-0");
  CHECK(pod->role == "gang-0-prefill");
}

}  // namespace
}  // namespace muster::kube
