// The second port, on a running service: health, metrics, pages, submissions.
#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "service_test_support.hpp"

namespace muster::extender::testing {
namespace {

// "place: error" of an answer that refuses.
std::string MessageIn(const std::string& body) {
  const std::string place = JsonText(body, "place");
  return (place.empty() ? "" : place + ": ") + JsonText(body, "error");
}

}  // namespace

TEST_CASE("the API says how the service is", "[api]") {
  TestService test;
  CHECK(test.Get("/healthz").status == 200);
  CHECK(test.Get("/readyz").status == 200);
  CHECK(test.Get("/nowhere").status == 404);
  CHECK(test.Post("/healthz", "").status == 405);

  const http::Reply metrics = test.Get("/metrics");
  CHECK_THAT(metrics.content_type, Catch::StartsWith("text/plain; version=0.0.4"));
  CHECK(Eventually(
      [&] { return test.Get("/metrics").body.find("muster_nodes 16\n") != std::string::npos; }));
  for (const char* name :
       {"muster_build_info{version=", "muster_gangs{state=\"Queued\"}", "muster_gpu_capacity",
        "muster_gang_wait_seconds_bucket", "muster_plan_seconds_count",
        "muster_policy_reloads_total{result=\"failed\"}", "muster_fabric_findings 0\n",
        "muster_scale_up_gangs 0\n", "muster_provisioning_requests{state=\"accepted\"} 0\n",
        "muster_restart_kept_pods 0\n", "muster_restart_windows_total{outcome=\"started\"} 0\n",
        "muster_actions_sent_total{kind=\"bind\"}",
        "muster_action_outcomes_total{kind=\"bind\",outcome=\"done\"}", "muster_held_binds"}) {
    CHECK_THAT(metrics.body, Catch::Contains(name));
  }
  const http::Reply policy = test.Get("/v1/policy");
  CHECK_THAT(policy.body, Catch::Contains("strategy: binpack"));
  CHECK_THAT(policy.body, Catch::StartsWith("# source: "));
}

TEST_CASE("a gang that is submitted runs, and its page shows where", "[api]") {
  TestService test;
  test.Submit(GangYaml("train", 4, 8));
  REQUIRE(test.Reaches("train", "Running"));
  const http::Reply page = test.Get("/v1/gangs/default/train");
  CHECK_THAT(page.body, Catch::Contains("\"bound\": 4"));
  CHECK_THAT(page.body, Catch::Contains("\"boundNode\": \"node-"));
  CHECK_THAT(test.Get("/v1/gangs").body, Catch::Contains("\"train\""));
  CHECK(test.Get("/v1/gangs/default/other").status == 404);
  CHECK(test.Get("/v1/gangs/default").status == 404);
  CHECK_THAT(test.Get("/v1/nodes").body, Catch::Contains("\"name\": \"node-15\""));
  CHECK_THAT(test.Get("/v1/objects/pods").body, Catch::Contains("\"train-3\""));
  CHECK(test.Get("/v1/objects/secrets").status == 404);
  CHECK_THAT(test.Get("/metrics").body,
             Catch::Contains("muster_action_outcomes_total{kind=\"bind\",outcome=\"done\"} 4"));
}

TEST_CASE("a gang that waits says why", "[api]") {
  TestService test;
  test.Submit(GangYaml("huge", 20, 8));
  REQUIRE(test.Reaches("huge", "Unsatisfiable"));
  CHECK_THAT(test.Get("/v1/gangs/default/huge").body, Catch::Contains("\"NeverFits\""));
  test.Submit(GangYaml("first", 16, 8));
  REQUIRE(test.Reaches("first", "Running"));
  test.Submit(GangYaml("second", 2, 8));
  REQUIRE(Eventually([&] {
    return test.Get("/v1/gangs/default/second").body.find("NotEnoughGpus") != std::string::npos;
  }));
  // Room for it, and it goes.
  for (int i = 0; i < 16; ++i) {
    CHECK(test.Delete("/v1/objects/pods/default/first-" + std::to_string(i)).status == 200);
  }
  CHECK(test.Reaches("second", "Running"));
  CHECK(test.Delete("/v1/objects/pods/default/none").status == 404);
  CHECK(test.Delete("/v1/objects/pods").status == 404);
}

TEST_CASE("a submission is accepted whole or refused with the place of what is wrong", "[api]") {
  TestService test;
  const auto refused = [&](const std::string& yaml, int status, const std::string& want) {
    const http::Reply reply = test.Post("/v1/manifests", yaml);
    INFO(reply.body);
    CHECK(reply.status == status);
    CHECK_THAT(reply.body, Catch::Contains(want));
  };
  refused(GangYaml("a", 1, 1) + "---\nkind: Pod\n", 400, "apiVersion");
  refused(GangYaml("a", 1, 1) + "---\napiVersion: v1\nkind: Pod\nmetadata: {}\n", 400, "name");
  refused("a: [", 400, "manifest:1:");
  refused("apiVersion: v1\nkind: Service\nmetadata: {name: x}\n", 400, "Service");
  refused(GangYaml("a", 1, 1, "soon"), 400, "expected a duration");
  refused(GangYaml("a", 1, 1) + "---\n" + GangYaml("a", 1, 1), 409, "twice");
  refused("", 400, "expected at least one object, found none");
  refused("# nothing\n---\n", 400, "at least one object");
  refused("apiVersion: v1\nkind: List\nitems: []\n", 400, "at least one object");
  CHECK(test.StateOf("a").empty());
  CHECK_THAT(test.Get("/v1/objects/pods").body, !Catch::Contains("\"a-0\""));

  test.Submit(GangYaml("a", 1, 1));
  refused(GangYaml("b", 1, 1) + "---\n" + GangYaml("a", 1, 1), 409, "exists already");
  CHECK(test.StateOf("b").empty());
}

TEST_CASE("what could never become a gang is refused with its place", "[api]") {
  const std::string group =
      "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: ";
  const auto pod = [](const std::string& metadata, const std::string& limits) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, " + metadata +
           "}\nspec: {containers: [{name: main, resources: {limits: " + limits + "}}]}\n";
  };
  struct Case {
    std::string yaml;
    std::string want;
  };
  const auto [yaml, want] = GENERATE_COPY(values<Case>({
      {group + "{minMembers: 2}\n", "manifest:4:20: spec.minMembers: unknown field"},
      {group + "{minMember: two}\n", "manifest:4:19: spec.minMember: expected"},
      {pod("namespace: default", "{nvidia.com/gpu: -1}"), "manifest:4:"},
      {pod("namespace: default", "{cpu: 4x}"), "manifest:4:"},
      {pod("labels: {scheduling.x-k8s.io/pod-group: g}, annotations: {muster.dev/min-member: "
           "three}",
           "{nvidia.com/gpu: 1}"),
       "manifest:3:"},
  }));
  TestService test;
  const http::Reply reply = test.Post("/v1/manifests", yaml);
  INFO(reply.body);
  CHECK(reply.status == 400);
  CHECK_THAT(MessageIn(reply.body), Catch::StartsWith(want));
}

TEST_CASE("a gang that only its pods speak of starts whole", "[api]") {
  TestService test;
  const auto pod = [](const std::string& name) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", labels: {scheduling.x-k8s.io/pod-group: g}, "
           "annotations: {muster.dev/min-member: \"2\"}}\n"
           "spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]}\n";
  };
  test.Submit("apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n---\n" + pod("a"));
  REQUIRE(test.Reaches("g", "Forming"));
  CHECK(Eventually([&] {
    return test.Get("/v1/objects/events").body.find("gang default/g: not all members exist") !=
           std::string::npos;
  }));
  test.Submit(pod("b"));
  CHECK(test.Reaches("g", "Running"));
}

TEST_CASE("names that Kubernetes would refuse are refused with their place", "[api]") {
  struct Case {
    std::string metadata;  // of a Pod, on the third line
    std::string want;
  };
  const std::string label(63, 'a');
  const auto [metadata, want] = GENERATE_COPY(values<Case>({
      {"{name: BAD_Name}", "manifest:3:18: metadata.name: expected a DNS-1123 subdomain"},
      {"{name: -a}", "manifest:3:18: metadata.name: "},
      {"{name: a..b}", "manifest:3:18: metadata.name: "},
      {"{name: a.b.}", "manifest:3:18: metadata.name: "},
      {"{name: a" + label + "}", "manifest:3:18: metadata.name: "},
      {"{name: a, namespace: b.c}", "manifest:3:32: metadata.namespace: expected a DNS-1123 label"},
      {"{generateName: B-}", "manifest:3:11: metadata.name: expected a DNS-1123 subdomain"},
  }));
  TestService test;
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: " + metadata + "\nspec: {containers: [{name: main}]}\n";
  const http::Reply reply = test.Post("/v1/manifests", pod);
  INFO(reply.body);
  CHECK(reply.status == 400);
  CHECK_THAT(MessageIn(reply.body), Catch::StartsWith(want));
  CHECK_THAT(test.Get("/v1/objects/pods").body, !Catch::Contains("\"name\""));
}

TEST_CASE("objects that leave their names to the API server get different ones", "[api]") {
  TestService test;
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\nspec: {containers: [{name: "
      "main}]}\n";
  test.Submit(pod + "---\n" + pod);
  test.Submit(pod);
  const std::string pods = test.Get("/v1/objects/pods").body;
  std::set<std::string> names;
  for (std::size_t at = pods.find("\"a-"); at != std::string::npos; at = pods.find("\"a-", at + 1))
    names.insert(pods.substr(at, pods.find('"', at + 1) - at));
  CHECK(names.size() == 3);
}

TEST_CASE("names that Kubernetes takes are taken", "[api]") {
  TestService test;
  const std::string label(63, 'a');
  for (const std::string& name : {std::string("0"), std::string("a-1.b--2"), label + "." + label}) {
    test.Submit("apiVersion: v1\nkind: Pod\nmetadata: {name: \"" + name +
                "\", namespace: team-a}\nspec: {containers: [{name: main}]}\n");
    CHECK_THAT(test.Get("/v1/objects/pods").body, Catch::Contains("\"" + name + "\""));
  }
}

TEST_CASE("Lists, Jobs and simulated run times are understood", "[api]") {
  TestService test;
  test.Submit(R"(apiVersion: v1
kind: List
items:
- apiVersion: batch/v1
  kind: Job
  metadata: {name: sweep}
  spec:
    parallelism: 3
    completions: 3
    template:
      metadata: {annotations: {sim.muster.dev/runs-for: 100ms}}
      spec:
        schedulerName: muster
        restartPolicy: Never
        containers:
        - name: main
          resources: {limits: {nvidia.com/gpu: 1}}
- apiVersion: v1
  kind: Pod
  metadata: {name: alone}
  spec: {schedulerName: muster, containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]}
)");
  CHECK(test.Reaches("alone", "Running"));
  CHECK(Eventually([&] {
    return test.Get("/v1/objects/jobs").body.find("\"complete\": true") != std::string::npos;
  }));
}

TEST_CASE("manifests are taken as what they are said to be, and from no form of a page", "[api]") {
  TestService test;
  const std::string yaml = GangYaml("train", 1, 1);
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                           "application/yamlish"}) {
    CAPTURE(type);
    const http::Reply refused = test.Post("/v1/manifests", yaml, type);
    CHECK(refused.status == 400);
    CHECK_THAT(refused.body, Catch::Contains("expected Content-Type: application/yaml"));
  }
  CHECK_THAT(test.Get("/v1/objects/podgroups").body, !Catch::Contains("train"));
  CHECK(test.Post("/v1/manifests", yaml, "application/yaml; charset=utf-8").status == 200);
}

}  // namespace muster::extender::testing
