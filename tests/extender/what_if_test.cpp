// POST /v1/whatif of a whole service.
#include <catch2/catch.hpp>
#include <string>

#include "tests/extender/service_test_support.hpp"

namespace muster::extender::testing {
namespace {

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string File(const std::string& name, const std::string& text) {
  return R"({"name": )" + Quoted(name) + R"(, "text": )" + Quoted(text) + "}";
}

std::string Request(const std::string& manifest, const std::string& policy = "") {
  std::string body = R"({"manifests": [)";
  if (!manifest.empty()) body += File("jobs.yaml", manifest);
  body += "]";
  if (!policy.empty()) body += R"(, "policy": )" + File("policy.yaml", policy);
  return body + "}";
}

constexpr const char* kPreempting =
    "apiVersion: muster.dev/v1alpha1\nkind: Policy\ngangs:\n  preemption: lowerPriority\n";

std::string Urgent(std::string gang) {
  const std::string spec = "  schedulerName: muster\n";
  for (std::size_t at = gang.find(spec); at != std::string::npos; at = gang.find(spec, at + 40))
    gang.insert(at, "  priority: 100\n");
  return gang;
}

TEST_CASE("what-if answers from the live cluster and changes nothing", "[service][whatif]") {
  TestService test;
  test.Submit(GangYaml("train", 15, 8));
  REQUIRE(test.Reaches("train", "Running"));
  const http::Reply fits = test.Post("/v1/whatif", Request(GangYaml("small", 1, 8)));
  INFO(fits.body);
  REQUIRE(fits.status == 200);
  CHECK_THAT(fits.body,
             Catch::Contains("\"name\": \"small\"") && Catch::Contains("\"starts\": true") &&
                 Catch::Contains("\"node\": \"node-15\"") && Catch::Contains("\"complete\": true"));
  const http::Reply large = test.Post("/v1/whatif", Request(GangYaml("large", 2, 8)));
  CHECK_THAT(large.body, Catch::Contains("\"starts\": false") &&
                             Catch::Contains("\"code\": \"NotEnoughGpus\""));
  CHECK(test.StateOf("small").empty());
  CHECK(test.StateOf("large").empty());
  // The same after it was submitted.
  test.Submit(GangYaml("large", 2, 8));
  REQUIRE(test.Reaches("large", "Queued"));
  const std::string message = "\"message\": \"" + JsonText(large.body, "message");
  CHECK(Eventually(
      [&] { return test.Get("/v1/gangs/default/large").body.find(message) != std::string::npos; }));
}

TEST_CASE("what-if tries another policy on what waits", "[service][whatif]") {
  TestService test;
  test.Submit(GangYaml("train", 16, 8));
  REQUIRE(test.Reaches("train", "Running"));
  test.Submit(Urgent(GangYaml("urgent", 2, 8)));
  REQUIRE(test.Reaches("urgent", "Queued"));
  const http::Reply reply = test.Post("/v1/whatif", Request("", kPreempting));
  INFO(reply.body);
  REQUIRE(reply.status == 200);
  CHECK_THAT(reply.body, Catch::Contains("\"name\": \"urgent\"") &&
                             Catch::Contains("\"asked\": false") &&
                             Catch::Contains("\"starts\": true") &&
                             Catch::Contains("\"for\": \"default/urgent\"") &&
                             Catch::Contains("\"evictedPods\": 16"));
  CHECK(test.StateOf("train") == "Running");
  CHECK(test.StateOf("urgent") == "Queued");
}

TEST_CASE("what-if tells when a gang that waits is expected to start", "[service][whatif]") {
  TestService test;
  std::string train = GangYaml("train", 16, 8);
  const std::string name = "{name: train}";
  train.replace(train.find(name), name.size(),
                "{name: train, annotations: {muster.dev/expected-duration: 1h}}");
  test.Submit(train);
  REQUIRE(test.Reaches("train", "Running"));
  const http::Reply reply = test.Post("/v1/whatif", Request(GangYaml("large", 2, 8)));
  INFO(reply.body);
  CHECK_THAT(reply.body, Catch::Contains("\"class\": \"declared\"") &&
                             Catch::Contains("\"evidence\": \"the end of gang default/train\"") &&
                             Catch::Contains("\"lookedAtAll\": true"));
}

TEST_CASE("what-if makes the pods of Jobs, and may add nodes", "[service][whatif]") {
  TestService test;
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: sweep, namespace: default}\n"
      "spec:\n  parallelism: 2\n  completions: 2\n  completionMode: Indexed\n  template:\n"
      "    spec:\n      schedulerName: muster\n      restartPolicy: Never\n      containers:\n"
      "      - {name: c, image: i, resources: {limits: {nvidia.com/gpu: \"8\"}, requests: {cpu: "
      "\"1\"}}}\n";
  const http::Reply reply = test.Post("/v1/whatif", Request(job));
  INFO(reply.body);
  REQUIRE(reply.status == 200);
  CHECK_THAT(reply.body,
             Catch::Contains("\"pod\": \"sweep-0\"") && Catch::Contains("\"pod\": \"sweep-1\""));
  CHECK_THAT(reply.body, Catch::Contains("\"name\": \"job:sweep~"));  // a gang by its owner
  const http::Reply nodes =
      test.Post("/v1/whatif", Request(NodesYaml("extra", 4, 8) + "---\n" + GangYaml("g", 20, 8)));
  INFO(nodes.body);
  CHECK_THAT(nodes.body, Catch::Contains("\"starts\": true") && Catch::Contains("extra-"));
  CHECK_THAT(test.Get("/v1/nodes").body, !Catch::Contains("extra"));
}

TEST_CASE("what-if says which pods are left out, and refuses where all of them are",
          "[service][whatif]") {
  TestService test;
  const auto pod = [](const std::string& name, const std::string& more) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n" + more +
           "  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]\n";
  };
  const std::string job =
      "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: sweep}\nspec:\n  parallelism: 3\n"
      "  completions: 9\n  template:\n    spec: {containers: [{name: c}]}\n";
  const std::string hint = " left out (a namespace with label muster.dev/schedule has it set)\"";
  const auto asked = [&](const std::string& manifest, int want, const std::string& policy = "") {
    const http::Reply reply = test.Post("/v1/whatif", Request(manifest, policy));
    INFO(reply.body);
    CHECK(reply.status == want);
    return reply.body;
  };
  const std::string none = asked(job + pod("p", ""), 400);
  CHECK_THAT(none, Catch::Contains(
                       "\"4 pods of jobs.yaml do not say schedulerName: muster and are" + hint));
  const std::string some = asked(pod("p", "") + pod("q", "  schedulerName: muster\n"), 200);
  CHECK_THAT(some, Catch::Contains(
                       "\"1 pod of jobs.yaml does not say schedulerName: muster and is" + hint));
  CHECK_THAT(some, Catch::Contains("\"name\": \"q\"") && !Catch::Contains("\"name\": \"p\""));
  // Those of the policy that is asked about.
  const std::string policy =
      "apiVersion: muster.dev/v1alpha1\nkind: Policy\nschedulerNames: [gpus, batch]\n";
  CHECK_THAT(asked(pod("q", "  schedulerName: muster\n"), 400, policy),
             Catch::Contains("schedulerName: gpus or batch and is" + hint));
  CHECK_THAT(asked(pod("q", "  schedulerName: batch\n"), 200, policy),
             Catch::Contains("\"name\": \"q\"") && !Catch::Contains("left out"));
  // What has a node takes its room, whoever put it there; and nodes alone are a question, too.
  CHECK_THAT(asked(pod("p", "  nodeName: node-00\n") + pod("q", "  schedulerName: muster\n"), 200),
             !Catch::Contains("left out"));
  CHECK_THAT(asked(NodesYaml("extra", 1, 8), 200), !Catch::Contains("left out"));
}

TEST_CASE("what-if refuses what it cannot read, with its place", "[service][whatif]") {
  TestService test;
  test.Submit(GangYaml("train", 1, 8));
  REQUIRE(test.Reaches("train", "Running"));
  struct Case {
    std::string body;
    int status;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"{", 400, "not valid JSON"},
      {"{}", 400, "expected manifests, a policy, or both"},
      {R"({"manifests": [{"name": "x"}]})", 400, "request.manifests[0].text"},
      {Request("kind: Pod\n"), 400, "jobs.yaml:1:1"},
      {Request("---\n"), 400, "expected at least one object"},
      {Request(GangYaml("a", 1, 1) + "---\n" + GangYaml("a", 1, 1)), 409, "in the request twice"},
      {Request(GangYaml("train", 1, 8)), 409, "default/train exists already"},
      {Request("", std::string(kPreempting) + "colour: red\n"), 400, "policy.yaml:5:1"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.body);
    const http::Reply reply = test.Post("/v1/whatif", c.body);
    CHECK(reply.status == c.status);
    CHECK_THAT(reply.body, Catch::Contains(c.message));
  }
}

}  // namespace
}  // namespace muster::extender::testing
