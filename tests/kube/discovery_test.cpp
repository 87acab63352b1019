#include "kube/watch/discovery.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/api/refusal.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::Code;

// {group, version} pairs -> what GET /apis says.
std::string Groups(const std::vector<std::pair<std::string, std::string>>& group_versions) {
  std::string body = R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)";
  bool first = true;
  for (const auto& [group, version] : group_versions) {
    body += first ? "" : ",";
    body += R"({"name":")" + group + R"(","versions":[{"groupVersion":")" + group + "/" + version +
            R"(","version":")" + version + R"("}]})";
    first = false;
  }
  return body + "]}";
}

std::string Resources(const std::vector<std::string>& names) {
  std::string body = R"({"kind":"APIResourceList","groupVersion":"g/v","resources":[)";
  for (size_t i = 0; i < names.size(); ++i) {
    body += (i == 0 ? R"({"name":")" : R"(,{"name":")") + names[i] + R"(","namespaced":true})";
  }
  return body + "]}";
}

void Serve(FakeApi& api, const std::string& group_version, const std::vector<std::string>& names) {
  api.On(Method::kGet, "/apis/" + group_version, Reply(200, Resources(names)));
}

const std::vector<std::string> kPodGroups = {"podgroups", "podgroups/status"};

TEST_CASE("the server's version is read, also of servers that add a plus", "[kube][discovery]") {
  struct Case {
    std::string body;
    ServerVersion want;
  };
  const auto& c = GENERATE(values<Case>({
      {R"({"major":"1","minor":"37","gitVersion":"v1.37.0"})", {1, 37}},
      {R"({"major":"1","minor":"34+","gitVersion":"v1.34.2-eks-1"})", {1, 34}},
  }));
  FakeApi api;
  api.On(Method::kGet, "/version", Reply(200, c.body));
  const auto version = DiscoverVersion(api);
  REQUIRE(version.ok());
  CHECK(*version == c.want);
  CHECK(api.requests().front().lane == Lane::kList);
}

TEST_CASE("a version that is none, and a server that is not there", "[kube][discovery]") {
  FakeApi api;
  CHECK(DiscoverVersion(api).error().code == Code::kNotFound);
  for (const char* body : {"{}", R"({"major":"","minor":""})", R"({"major":"1","minor":"x"})",
                           R"({"major":1,"minor":37})", "[]", "<html>"}) {
    api.On(Method::kGet, "/version", Reply(200, body));
    INFO(body);
    CHECK(DiscoverVersion(api).error().code == Code::kInternal);
  }
  api.On(Method::kGet, "/version", NoConnection());
  CHECK(DiscoverVersion(api).error().code == Code::kUnavailable);
}

TEST_CASE("every flavour that is served is found, in the best version of its own",
          "[kube][discovery]") {
  FakeApi api;
  api.On(Method::kGet, "/apis",
         Reply(200, Groups({{"apps", "v1"},
                            {"scheduler.grove.io", "v1alpha1"},
                            {"scheduling.run.ai", "v2alpha2"},
                            {"scheduling.volcano.sh", "v1beta1"},
                            {"scheduling.x-k8s.io", "v1alpha1"},
                            {"scheduling.k8s.io", "v1"},
                            {"scheduling.k8s.io", "v1alpha3"},
                            {"scheduling.k8s.io", "v1beta1"}})));
  Serve(api, "scheduling.k8s.io/v1beta1", kPodGroups);
  Serve(api, "scheduling.k8s.io/v1alpha3", kPodGroups);
  Serve(api, "scheduling.x-k8s.io/v1alpha1", kPodGroups);
  Serve(api, "scheduling.volcano.sh/v1beta1", {"queues", "podgroups", "podgroups/status"});
  Serve(api, "scheduling.run.ai/v2alpha2", {"podgroups"});
  Serve(api, "scheduler.grove.io/v1alpha1", {"podgangs", "podgangs/status"});
  const auto found = DiscoverKinds(api);
  REQUIRE(found.ok());
  CHECK(found->unknown.empty());
  const std::vector<ServedPodGroups> want = {
      {PodGroupFlavour::kNative, "scheduling.k8s.io", "v1beta1", true},
      {PodGroupFlavour::kSchedulerPlugins, "scheduling.x-k8s.io", "v1alpha1", true},
      {PodGroupFlavour::kVolcano, "scheduling.volcano.sh", "v1beta1", true},
      {PodGroupFlavour::kKai, "scheduling.run.ai", "v2alpha2", false},
      {PodGroupFlavour::kGrove, "scheduler.grove.io", "v1alpha1", true}};
  CHECK(found->podgroups == want);
  CHECK(found->podgroups.front().resource() == "podgroups");
  CHECK(found->podgroups.back().resource() == "podgangs");
  CHECK(found->podgroups.front().path() == "/apis/scheduling.k8s.io/v1beta1");
  CHECK(found->podgroups.front().api_version() == "scheduling.k8s.io/v1beta1");
  CHECK(std::string(ToString(PodGroupFlavour::kVolcano)) == "volcano");
}

TEST_CASE("kinds that are worth having are found where they are served, in their best version",
          "[kube][discovery]") {
  FakeApi api;
  const std::string group = "topology.node.k8s.io";
  api.On(Method::kGet, "/apis",
         Reply(200, Groups({{group, "v1alpha1"}, {group, "v1alpha2"}, {group, "v1"}})));
  Serve(api, group + "/v1alpha1", {"noderesourcetopologies"});
  Serve(api, group + "/v1alpha2", {"noderesourcetopologies"});
  const std::vector<ServedKind> want = {
      {OptionalKind::kNodeResourceTopologies, group + "/v1alpha2"}};
  CHECK(DiscoverKinds(api)->others == want);
  Serve(api, group + "/v1alpha2", {"other"});
  CHECK(DiscoverKinds(api)->others.front().api_version == group + "/v1alpha1");
  api.On(Method::kGet, "/apis/" + group + "/v1alpha1", Refusal(503, "is away"));
  const auto found = DiscoverKinds(api);
  CHECK(found->others.empty());
  REQUIRE(found->unknown.size() == 1);
  CHECK(found->unknown[0].what == "noderesourcetopologies.topology.node.k8s.io");
  api.On(Method::kGet, "/apis", Reply(200, Groups({})));
  CHECK(DiscoverKinds(api)->others.empty());
  api.On(Method::kGet, "/apis", Reply(200, Groups({{"resource.nvidia.com", "v1beta1"}})));
  Serve(api, "resource.nvidia.com/v1beta1", {"computedomaincliques", "computedomains"});
  const std::vector<ServedKind> domains = {
      {OptionalKind::kComputeDomains, "resource.nvidia.com/v1beta1"}};
  CHECK(DiscoverKinds(api)->others == domains);
  const std::string scaling = "autoscaling.x-k8s.io";
  api.On(Method::kGet, "/apis", Reply(200, Groups({{scaling, "v1beta1"}, {scaling, "v1"}})));
  for (const char* version : {"v1beta1", "v1"})
    Serve(api, scaling + "/" + version, {"provisioningrequests"});
  const std::vector<ServedKind> requests = {{OptionalKind::kProvisioningRequests, scaling + "/v1"}};
  CHECK(DiscoverKinds(api)->others == requests);
  const std::string resource = "resource.k8s.io";
  api.On(Method::kGet, "/apis",
         Reply(200, Groups({{resource, "v1beta1"}, {resource, "v1beta2"}, {resource, "v1"}})));
  for (const char* version : {"v1beta1", "v1beta2", "v1"}) {
    Serve(api, resource + "/" + version, {"resourceclaims", "resourceslices"});
  }
  const std::vector<ServedKind> slices = {{OptionalKind::kResourceSlices, resource + "/v1"}};
  CHECK(DiscoverKinds(api)->others == slices);
  api.On(Method::kGet, "/apis", Reply(200, Groups({{resource, "v1beta1"}})));
  CHECK(DiscoverKinds(api)->others.front().api_version == resource + "/v1beta1");
}

TEST_CASE("a native version counts only when it has PodGroups", "[kube][discovery]") {
  FakeApi api;
  api.On(Method::kGet, "/apis",
         Reply(200, Groups({{"scheduling.k8s.io", "v1beta1"}, {"scheduling.k8s.io", "v1alpha2"}})));
  Serve(api, "scheduling.k8s.io/v1beta1", {"priorityclasses"});
  SECTION("the older one has them") {
    Serve(api, "scheduling.k8s.io/v1alpha2", kPodGroups);
    const auto found = DiscoverKinds(api);
    REQUIRE(found.ok());
    REQUIRE(found->podgroups.size() == 1);
    CHECK(found->podgroups.front().version == "v1alpha2");
  }
  SECTION("none has") {
    Serve(api, "scheduling.k8s.io/v1alpha2", {"workloads"});
    const auto found = DiscoverKinds(api);
    REQUIRE(found.ok());
    CHECK(found->podgroups.empty());
    CHECK(found->unknown.empty());
  }
}

TEST_CASE("CRDs that come and go are seen when asked again", "[kube][discovery]") {
  FakeApi api;
  api.On(Method::kGet, "/apis", Reply(200, Groups({{"apps", "v1"}})));
  REQUIRE(DiscoverKinds(api).ok());
  CHECK(DiscoverKinds(api)->podgroups.empty());
  CHECK(api.lines() == std::vector<std::string>{"GET /apis", "GET /apis"});
  api.On(Method::kGet, "/apis", Reply(200, Groups({{"scheduling.x-k8s.io", "v1alpha1"}})));
  Serve(api, "scheduling.x-k8s.io/v1alpha1", kPodGroups);
  CHECK(DiscoverKinds(api)->podgroups.size() == 1);
  // Deleted between the two looks.
  api.On(Method::kGet, "/apis/scheduling.x-k8s.io/v1alpha1", Refusal(404, "not found"));
  CHECK(DiscoverKinds(api)->podgroups.empty());
  CHECK(DiscoverKinds(api)->unknown.empty());
}

TEST_CASE("a group that is down hides no other and is reported", "[kube][discovery]") {
  FakeApi api;
  api.On(Method::kGet, "/apis",
         Reply(200, Groups({{"scheduling.k8s.io", "v1beta1"},
                            {"scheduling.k8s.io", "v1alpha3"},
                            {"scheduling.volcano.sh", "v1beta1"},
                            {"scheduling.x-k8s.io", "v1alpha1"}})));
  // No falling back to v1alpha3 while v1beta1 does not answer.
  api.On(Method::kGet, "/apis/scheduling.k8s.io/v1beta1", NoConnection());
  Serve(api, "scheduling.k8s.io/v1alpha3", kPodGroups);
  api.On(Method::kGet, "/apis/scheduling.volcano.sh/v1beta1", Refusal(503, "service unavailable"));
  Serve(api, "scheduling.x-k8s.io/v1alpha1", kPodGroups);
  const auto found = DiscoverKinds(api);
  REQUIRE(found.ok());
  REQUIRE(found->podgroups.size() == 1);
  CHECK(found->podgroups.front().flavour == PodGroupFlavour::kSchedulerPlugins);
  REQUIRE(found->unknown.size() == 2);
  CHECK(found->unknown[0].what == "PodGroups of native");
  CHECK(found->unknown[1].what == "PodGroups of volcano");
  CHECK(found->unknown[1].why.ToString() ==
        "/apis/scheduling.volcano.sh/v1beta1: HTTP 503: service unavailable");
}

TEST_CASE("without a list of groups nothing is known", "[kube][discovery]") {
  FakeApi api;
  api.On(Method::kGet, "/apis", Refusal(403, "no"));
  CHECK(DiscoverKinds(api).error().code == Code::kForbidden);
  for (const char* body : {"[]", R"({"groups":[1]})", R"({"groups":{}})", "nonsense"}) {
    api.On(Method::kGet, "/apis", Reply(200, body));
    INFO(body);
    CHECK(DiscoverKinds(api).error().code == Code::kInternal);
  }
}

TEST_CASE("a refusal becomes an error that says what the server said", "[kube][refusal]") {
  struct Case {
    ApiReply reply;
    Code code;
    std::string want;
  };
  const auto& c = GENERATE(values<Case>({
      {Refusal(404, "pods \"a\" not found"), Code::kNotFound, "HTTP 404: pods \"a\" not found"},
      {Refusal(410, "too old"), Code::kNotFound, "HTTP 410: too old"},
      {Refusal(409, "changed\nsecond line"), Code::kConflict, "HTTP 409: changed second line"},
      {Refusal(401, ""), Code::kForbidden, "HTTP 401"},
      {Refusal(422, "bad"), Code::kInvalidArgument, "HTTP 422: bad"},
      {Refusal(429, "slow down"), Code::kUnavailable, "HTTP 429: slow down"},
      {Reply(502, "Bad Gateway\r\n"), Code::kUnavailable, "HTTP 502"},
      {Reply(301, ""), Code::kInternal, "HTTP 301"},
      {Reply(500, R"({"kind":"Status","reason":"InternalError"})"), Code::kUnavailable,
       "HTTP 500 InternalError"},
      {Refusal(500, std::string(1000, 'x')), Code::kUnavailable,
       "HTTP 500: " + std::string(499, 'x') + "..."},
  }));
  const cluster::Error error = ErrorOf(c.reply);
  CHECK(error.code == c.code);
  CHECK(error.message == c.want);
}

}  // namespace
}  // namespace muster::kube
