#include "extender/doctor/doctor.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <sstream>

#include "http/messages/base64.hpp"
#include "http/tls/serving_certificate.hpp"
#include "kube/json/json_writer.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::extender {
namespace {

using kube::FakeApi;
using kube::Method;
using kube::Refusal;
using kube::Reply;
using Kind = Finding::Kind;

constexpr const char* kSystem = "/api/v1/namespaces/muster-system/";
// 2026-11-26T08:00:00Z
const cluster::Time kNow(1'795'680'000'000);  // NOLINT(cert-err58-cpp)

std::string FileText(const std::string& path) {
  std::ifstream file(std::string(MUSTER_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ListOf(const std::string& items) {
  return "{\"metadata\":{},\"items\":[" + items + "]}";
}

std::string PodOf(const std::string& container, const std::string& image) {
  return R"({"spec":{"containers":[{"name":")" + container + R"(","image":")" + image +
         R"("}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}})";
}

std::string WithData(const std::string& key, const std::string& value,
                     const std::string& name = "it") {
  std::string body;
  kube::JsonWriter json(body);
  json.BeginObject().Key("metadata").BeginObject().Key("name").Text(name);
  json.Key("creationTimestamp").Text("2026-11-01T00:00:00Z").EndObject();
  json.Key("data").BeginObject().TextKey(key).Text(value).EndObject().EndObject();
  return body;
}

// A certificate that holds for `days` from now on.
std::string SecretFor(int days) {
  const std::chrono::sys_seconds now{std::chrono::seconds(kNow.milliseconds() / 1000)};
  const auto made = http::MakeServingCertificate({{"muster.muster-system.svc"},
                                                  "muster",
                                                  now - std::chrono::days(400),
                                                  now + std::chrono::days(days)});
  REQUIRE(made.ok());
  const std::string pem = http::EncodeBase64(made->pair.certificate);
  return R"({"data":{"tls.crt":")" + pem + R"(","tls.key":"eA==","ca.crt":"eA=="}})";
}

// A cluster in which all is well, as manifests/ make it.
struct Installation : FakeApi {
  Installation() {
    On(Method::kGet, "/version", Reply(200, R"({"minor":"37","gitVersion":"v1.37.0"})"));
    const std::string muster = PodOf("muster", "muster:0.1.0");
    Pods("extender", muster + "," + muster);
    Pods("scheduler", PodOf("kube-scheduler", "registry.k8s.io/kube-scheduler:v1.37.0"));
    Lease("muster-0_x", "2026-11-26T07:59:55.000000Z");
    for (const char* service : {"muster", "muster-api"}) Addresses(service, 1);
    On(Method::kGet, kSystem + std::string("services/muster-api"), Reply(200, "{}"));
    for (const char* secret : {"muster-tls", "muster-scheduler-tls"})
      On(Method::kGet, kSystem + std::string("secrets/") + secret, Reply(200, SecretFor(90)));
    Policy(FileText("manifests/base/policy.yaml"));
    SchedulerConfig(FileText("manifests/scheduler/config.yaml"));
    On(Method::kPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
       Reply(201, R"({"status":{"allowed":true}})"));
    for (const char* one :
         {"mutatingadmissionpolicies/muster-gate", "mutatingadmissionpolicybindings/muster-gate",
          "validatingadmissionpolicies/muster-guard",
          "validatingadmissionpolicybindings/muster-guard"})
      Admission(one, Reply(200, R"({"expression":"object.spec.schedulerName in ['muster']"})"));
    Waiting("");
  }
  void Pods(const std::string& component, const std::string& items) {
    On(Method::kGet,
       kSystem +
           std::string("pods?limit=500&labelSelector=app.kubernetes.io%2Fname%3Dmuster%2C"
                       "app.kubernetes.io%2Fcomponent%3D") +
           component,
       Reply(200, ListOf(items)));
  }
  void Addresses(const std::string& service, int count) {
    std::string endpoints;
    for (int i = 0; i < count; ++i)
      endpoints += (i == 0 ? "" : ",") + std::string(R"({"conditions":{"ready":true}})");
    On(Method::kGet,
       "/apis/discovery.k8s.io/v1/namespaces/muster-system/"
       "endpointslices?limit=500&labelSelector=kubernetes.io%2Fservice-name%3D" +
           service,
       Reply(200, ListOf(R"({"endpoints":[)" + endpoints + "]}")));
  }
  void Lease(const std::string& holder, const std::string& renewed) {
    On(Method::kGet, "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/muster",
       Reply(200,
             R"({"metadata":{"name":"muster","resourceVersion":"7"},"spec":{"holderIdentity":")" +
                 holder +
                 R"(","leaseDurationSeconds":15,"acquireTime":"2026-11-26T07:00:00.000000Z",)" +
                 R"("renewTime":")" + renewed + R"(","leaseTransitions":1}})"));
  }
  void Policy(const std::string& yaml) {
    On(Method::kGet, kSystem + std::string("configmaps/muster-policy"),
       Reply(200, WithData("policy.yaml", yaml)));
  }
  void SchedulerConfig(const std::string& yaml) {
    On(Method::kGet, kSystem + std::string("configmaps?limit=500"),
       Reply(200, ListOf(WithData("config.yaml", yaml, "muster-scheduler-config-abc"))));
  }
  void Admission(const std::string& path, const Answer& answer) {
    On(Method::kGet, "/apis/admissionregistration.k8s.io/v1/" + path, answer);
  }
  void Waiting(const std::string& items) {
    On(Method::kGet, "/api/v1/pods?limit=500&fieldSelector=status.phase%3DPending",
       Reply(200, ListOf(items)));
  }
};

std::string GatedPod(const std::string& name, const std::string& scheduler) {
  return R"({"metadata":{"namespace":"team","name":")" + name +
         R"(","creationTimestamp":"2026-11-26T05:00:00Z"},"spec":{"schedulerName":")" + scheduler +
         R"(","schedulingGates":[{"name":"muster.dev/gang"}]}})";
}

std::vector<Finding> Examined(Installation& cluster) {
  return Examine(cluster, {.ns = "muster-system", .now = kNow});
}

// What is not fine: "fault leader: …; remedy".
std::vector<std::string> Complaints(Installation& cluster) {
  std::vector<std::string> complaints;
  for (const Finding& finding : Examined(cluster)) {
    if (finding.kind == Kind::kFine) continue;
    CHECK_FALSE(finding.remedy.empty());
    complaints.push_back(std::string(ToString(finding.kind)) + " " + finding.check + ": " +
                         finding.what);
  }
  return complaints;
}

using Texts = std::vector<std::string>;

TEST_CASE("an installation as manifests/ make it has no fault", "[extender][doctor]") {
  Installation cluster;
  CHECK(Complaints(cluster) == Texts{});
  CHECK(Examined(cluster).size() == 14);
}

TEST_CASE("an API server that does not answer is the only finding", "[extender][doctor]") {
  Installation cluster;
  cluster.On(Method::kGet, "/version", FakeApi::Answer(kube::NoConnection()));
  CHECK(Examined(cluster).size() == 1);
  CHECK(Examined(cluster).front().kind == Kind::kFault);
}

TEST_CASE("nobody leads, and the pods that wait for it are counted", "[extender][doctor]") {
  Installation cluster;
  cluster.Waiting(GatedPod("a", "muster") + "," + GatedPod("b", "muster"));
  SECTION("the Lease has run out") {
    cluster.Lease("muster-0_x", "2026-11-26T07:58:27.000000Z");
    CHECK(
        Complaints(cluster) ==
        Texts{"fault leader: nobody leads: the Lease is of muster-0_x, renewed 93 s ago",
              "fault gated pods: 2 pods wait behind Muster's gate, the oldest is team/a (3h), and "
              "nobody leads"});
  }
  SECTION("it was given up") {
    cluster.Lease("", "2026-11-26T07:58:27.000000Z");
    CHECK(Complaints(cluster).front() ==
          "fault leader: nobody holds the Lease: its last holder gave it up");
  }
}

TEST_CASE("pods behind the gate whose scheduler is not Muster's are gated by nobody",
          "[extender][doctor]") {
  Installation cluster;
  cluster.Waiting(GatedPod("a", "muster") + "," + GatedPod("b", "default-scheduler"));
  CHECK(Complaints(cluster) ==
        Texts{"fault gated pods: 1 pod waits behind Muster's gate, the oldest is team/b (3h): "
              "schedulerName default-scheduler is not Muster's, so nobody takes the gate away"});
}

TEST_CASE("certificates that are missing, over or soon over are told", "[extender][doctor]") {
  Installation cluster;
  const std::string path = kSystem + std::string("secrets/muster-tls");
  SECTION("missing") {
    cluster.On(Method::kGet, path, Refusal(404, "not found"));
    CHECK(Complaints(cluster) == Texts{"fault certificates: Secret muster-tls does not exist"});
  }
  SECTION("expired") {
    cluster.On(Method::kGet, path, Reply(200, SecretFor(-1)));
    CHECK(Complaints(cluster) ==
          Texts{"fault certificates: Secret muster-tls expired at 2026-11-25T08:00:00Z"});
  }
  SECTION("soon") {
    cluster.On(Method::kGet, path, Reply(200, SecretFor(5)));
    CHECK(Complaints(cluster) ==
          Texts{"note certificates: Secret muster-tls holds until 2026-12-01T08:00:00Z"});
  }
  SECTION("the caller may not read Secrets") {
    cluster.On(Method::kGet, path, Refusal(403, "forbidden"));
    const Texts complaints = Complaints(cluster);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints.front().find("unknown certificates: ") == 0);
  }
}

TEST_CASE("what keeps a kube-scheduler from working with Muster is reported",
          "[extender][doctor]") {
  Installation cluster;
  std::string yaml = FileText("manifests/scheduler/config.yaml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = yaml.find(from);
    REQUIRE(at != std::string::npos);
    yaml.replace(at, from.size(), to);
  };
  replace("httpTimeout: 60s", "httpTimeout: 10s");
  replace("ignorable: false", "ignorable: true");
  replace("nodeCacheCapable: true", "nodeCacheCapable: false");
  replace("schedulerName: muster", "schedulerName: other");
  cluster.SchedulerConfig(yaml);
  CHECK(
      Complaints(cluster) ==
      Texts{"fault extender configuration: ConfigMap muster-scheduler-config-abc: no profile has "
            "schedulerName muster of Muster's policy; ignorable is true: without Muster pods would "
            "be bound anywhere; nodeCacheCapable is not true: every call carries all nodes; "
            "httpTimeout is 10s, extender.httpTimeout of the policy 1m"});
}

// Refuses each right that such a resource or subresource is named for.
void Deny(Installation& cluster, const std::string& resource) {
  cluster.On(Method::kPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
             [resource](const kube::ApiRequest& request) -> FakeApi::Answer {
               const bool named = request.body.find('"' + resource + '"') != std::string::npos;
               return Reply(201, named ? R"({"status":{"allowed":false}})"
                                       : R"({"status":{"allowed":true}})");
             });
}

TEST_CASE("what asking for nodes needs is checked where the policy asks", "[extender][doctor]") {
  Installation cluster;
  cluster.Policy(
      "apiVersion: muster.dev/v1alpha1\nkind: Policy\n"
      "autoscaling: {scaleUp: provisioningRequest}\n");
  const std::string group = "/apis/autoscaling.x-k8s.io";
  cluster.On(Method::kGet, group, Reply(200, "{}"));
  SECTION("all is there") {
    CHECK(Complaints(cluster) == Texts{});
    CHECK(Examined(cluster).size() == 15);
  }
  SECTION("the kind is not served") {
    cluster.On(Method::kGet, group, Refusal(404, "not found"));
    CHECK(Complaints(cluster) ==
          Texts{"fault scale-up: this API server has no ProvisioningRequests: Muster asks for no "
                "nodes"});
  }
  SECTION("Muster may not make templates") {
    Deny(cluster, "podtemplates");
    CHECK(Complaints(cluster) ==
          Texts{"fault scale-up: the account muster may not create podtemplates, delete "
                "podtemplates: it asks for no nodes"});
  }
}

TEST_CASE("what kubectl muster needs is checked", "[extender][doctor]") {
  Installation cluster;
  SECTION("the Service") {
    cluster.On(Method::kGet, kSystem + std::string("services/muster-api"), Refusal(404, "no"));
    CHECK(Complaints(cluster) ==
          Texts{"note kubectl muster: there is no Service muster-api: it reaches nobody"});
  }
  SECTION("its address") {
    cluster.Addresses("muster-api", 0);
    CHECK(Complaints(cluster) == Texts{"fault kubectl muster: Service muster-api has no address"});
  }
  SECTION("the right to ask who somebody is") {
    Deny(cluster, "tokenreviews");
    CHECK(Complaints(cluster) ==
          Texts{"fault kubectl muster: the account muster may not create "
                "tokenreviews.authentication.k8s.io: it answers only public pages"});
  }
}

TEST_CASE("admission policies, rights, policy, service and versions are checked",
          "[extender][doctor]") {
  Installation cluster;
  SECTION("the gate is missing") {
    cluster.Admission("mutatingadmissionpolicybindings/muster-gate", Refusal(404, "not found"));
    CHECK(Complaints(cluster) ==
          Texts{"fault gate: mutatingadmissionpolicybindings muster-gate does not exist: pods with "
                "Muster's schedulerName get no gate"});
  }
  SECTION("the gate does not name a schedulerName") {
    cluster.Policy(
        "apiVersion: muster.dev/v1alpha1\nkind: Policy\nschedulerNames: [muster, batch]\n");
    const Texts complaints = Complaints(cluster);
    CHECK(std::count(
              complaints.begin(), complaints.end(),
              "fault gate: muster-gate does not name schedulerName batch of Muster's policy") == 1);
  }
  SECTION("before 1.36 there is no such policy") {
    cluster.On(Method::kGet, "/version", Reply(200, R"({"minor":"34","gitVersion":"v1.34.2"})"));
    cluster.Pods("scheduler", PodOf("kube-scheduler", "registry.k8s.io/kube-scheduler:v1.34.2"));
    CHECK(Complaints(cluster) ==
          Texts{"note webhook: this API server has no MutatingAdmissionPolicy by default, and "
                "Muster's webhook is not installed: pods get no gate by themselves"});
    const std::string hook = "mutatingwebhookconfigurations/muster-schedule";
    cluster.Admission(hook, Reply(200, R"({"webhooks":[{"clientConfig":{}}]})"));
    CHECK(Complaints(cluster) ==
          Texts{"fault webhook: muster-schedule has no caBundle: the API server calls nobody"});
    cluster.Admission(hook, Reply(200, R"({"webhooks":[{"clientConfig":{"caBundle":"eA=="}}]})"));
    CHECK(Complaints(cluster) == Texts{});
  }
  SECTION("a right is missing") {
    Deny(cluster, "binding");
    CHECK(Complaints(cluster) ==
          Texts{"fault rights: the account muster may not create pods/binding"});
  }
  SECTION("Muster may delete no pods") {
    Deny(cluster, "delete");
    CHECK(Complaints(cluster) ==
          Texts{"note budgets: the account muster may not delete pods: PodDisruptionBudgets keep "
                "what queues take back of their guarantees"});
  }
  SECTION("the policy is at fault") {
    cluster.Policy("apiVersion: muster.dev/v1alpha1\nkind: Policy\ncolour: red\n");
    const Texts complaints = Complaints(cluster);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints.front().find("fault policy: policy.yaml:3:1: colour: unknown field") == 0);
  }
  SECTION("the Service has nobody") {
    cluster.Addresses("muster", 0);
    CHECK(Complaints(cluster) ==
          Texts{"fault service: Service muster has no address: kube-scheduler reaches nobody"});
  }
  SECTION("kube-scheduler is of another release") {
    cluster.Pods("scheduler", PodOf("kube-scheduler", "registry.k8s.io/kube-scheduler:v1.36.1"));
    CHECK(Complaints(cluster) ==
          Texts{"note kube-scheduler: it is of Kubernetes 1.36, the API server of 1.37"});
  }
  SECTION("nothing is installed") {
    cluster.Pods("extender", "");
    CHECK(Complaints(cluster) ==
          Texts{"fault replicas: no pod of Muster is there in namespace muster-system"});
  }
}

}  // namespace
}  // namespace muster::extender
