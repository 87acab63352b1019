// Which new pods are taken for Muster, and by which patch; that the manifests say the same in CEL.
#include "kube/admission/admission_review.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/file.hpp"
#include "config/yaml/yaml_parser.hpp"
#include "http/messages/base64.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/json/json.hpp"

namespace muster::kube {
namespace {

const std::string kNamed = R"({"op":"add","path":"/spec/schedulerName","value":"muster"})";
const std::string kGated =
    R"({"op":"add","path":"/spec/schedulingGates","value":[{"name":"muster.dev/gang"}]})";
const std::string kGateAdded =
    R"({"op":"add","path":"/spec/schedulingGates/-","value":{"name":"muster.dev/gang"}})";
const std::string kBoth = "[" + kNamed + "," + kGated + "]";

const std::string kAdmissionReviewPlain =
    R"("containers":[{"name":"c","resources":{"limits":{"cpu":"1"}}}])";
std::string Limits(const std::string& list) {
  return R"("containers":[{"name":"a"},{"name":"c","resources":{"limits":{)" + list + "}}}]";
}
const std::string kGpus = Limits(R"("nvidia.com/gpu":"2")");

std::string Pod(const std::string& spec, const std::string& metadata = "") {
  return R"({"metadata":{)" + metadata + R"(},"spec":{)" + spec + "}}";
}

std::string Patched(const std::string& pod, TakenPods taken) {
  const auto json = Json::Parse(pod, pod.size(), "Pod");
  INFO((json.ok() ? "" : json.error().ToString()));
  REQUIRE(json.ok());
  JsonProblems problems;
  const JsonView view(json->root(), "Pod", problems);
  std::string patch = PatchOf(view, {taken, "muster", "muster-system"});
  REQUIRE(problems.none());
  return patch;
}

struct AdmissionReviewCase {
  std::string name;
  std::string pod;
  std::string want_gpu;
  std::string want_all;
};

TEST_CASE("pods are taken by what they ask for, unless somebody else has them",
          "[kube][admission]") {
  const std::string by_default = R"("schedulerName":"default-scheduler",)";
  const std::string by_muster = R"("schedulerName":"muster",)";
  const std::string gate = R"(,"schedulingGates":[{"name":"muster.dev/gang"}])";
  const std::string other_gate = R"(,"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}])";
  const AdmissionReviewCase c = GENERATE_REF(values<AdmissionReviewCase>({
      {"a GPU pod without a scheduler", Pod(kGpus), kBoth, kBoth},
      {"a GPU pod of the default scheduler", Pod(by_default + kGpus), kBoth, kBoth},
      {"a pod without GPUs", Pod(by_default + kAdmissionReviewPlain), "", kBoth},
      {"a Ray head without GPUs",
       Pod(kAdmissionReviewPlain, R"("labels":{"ray.io/cluster":"tune"})"), kBoth, kBoth},
      {"a launcher of a third scheduler",
       Pod(R"("schedulerName":"volcano",)" + kAdmissionReviewPlain,
           R"("labels":{"training.kubeflow.org/job-name":"mpi"})"),
       "", ""},
      {"no GPU, said as a number", Pod(Limits(R"("nvidia.com/gpu":"0")")), "", kBoth},
      {"a share as HAMi has it", Pod(Limits(R"("nvidia.com/gpumem":"4k")")), kBoth, kBoth},
      {"a share as KAI has it",
       Pod(kAdmissionReviewPlain, R"("annotations":{"gpu-fraction":"0.5"})"), kBoth, kBoth},
      {"an init container's GPU",
       Pod(kAdmissionReviewPlain +
           R"(,"initContainers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}])"),
       kBoth, kBoth},
      {"devices that Muster does not plan", Pod(Limits(R"("amd.com/gpu":"1")")), "", kBoth},
      {"a claim", Pod(kAdmissionReviewPlain + R"(,"resourceClaims":[{"name":"gpu"}])"), "", kBoth},
      {"a third scheduler", Pod(R"("schedulerName":"volcano",)" + kGpus), "", ""},
      {"it has a node", Pod(R"("nodeName":"n1",)" + kGpus), "", ""},
      {"a DaemonSet's", Pod(kGpus, R"("ownerReferences":[{"kind":"DaemonSet"}])"), "", ""},
      {"a static pod's", Pod(kGpus, R"("annotations":{"kubernetes.io/config.mirror":"x"})"), "",
       ""},
      {"a Job's", Pod(kGpus, R"("ownerReferences":[{"kind":"Job"}])"), kBoth, kBoth},
      {"another controller's gate stays", Pod(kGpus + other_gate),
       "[" + kNamed + "," + kGateAdded + "]", "[" + kNamed + "," + kGateAdded + "]"},
      {"it has the gate alone", Pod(kGpus + gate), "[" + kNamed + "]", "[" + kNamed + "]"},
      {"Muster's, without the gate", Pod(by_muster + kAdmissionReviewPlain), "[" + kGated + "]",
       "[" + kGated + "]"},
      {"asked again", Pod(by_muster + kGpus + gate), "", ""},
      {"null is absent", Pod(kGpus + R"(,"schedulingGates":null,"nodeName":null)"), kBoth, kBoth},
  }));
  CAPTURE(c.name);
  CHECK(Patched(c.pod, TakenPods::kGpu) == c.want_gpu);
  CHECK(Patched(c.pod, TakenPods::kAll) == c.want_all);
  CHECK(Patched(c.pod, TakenPods::kNone).empty());
}

std::string Review(const std::string& object, const std::string& ns = "team",
                   const std::string& operation = "CREATE", const std::string& sub = "") {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",)"
         R"("resource":{"group":"","version":"v1","resource":"pods"},"subResource":")" +
         sub + R"(","namespace":")" + ns + R"(","operation":")" + operation + R"(","object":)" +
         object + R"(,"oldObject":null,"dryRun":false}})";
}

const AdmissionRules kAll{TakenPods::kAll, "muster", "muster-system"};

TEST_CASE("a review is answered with its UID, and a patch where the pod is taken",
          "[kube][admission]") {
  const auto taken = AnswerReview(Review(Pod(kAdmissionReviewPlain)), kAll);
  REQUIRE(taken.ok());
  CHECK(taken->changed);
  CHECK(taken->body ==
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u-1",)"
        R"("allowed":true,"patch":")" +
            http::EncodeBase64(kBoth) + R"(","patchType":"JSONPatch"}})");
  for (const std::string& left :
       {Review(Pod(kAdmissionReviewPlain), "kube-system"),
        Review(Pod(kAdmissionReviewPlain), "muster-system"),
        Review(Pod(kAdmissionReviewPlain), "team", "UPDATE"),
        Review(Pod(kAdmissionReviewPlain), "team", "CREATE", "binding")}) {
    const auto answer = AnswerReview(left, kAll);
    REQUIRE(answer.ok());
    CHECK_FALSE(answer->changed);
    CHECK(answer->body ==
          R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":)"
          R"({"uid":"u-1","allowed":true}})");
  }
}

TEST_CASE("what is no review of a pod has no answer", "[kube][admission]") {
  for (const std::string& body : std::vector<std::string>{
           "", "{", "[]", "{}", Review("null"), Review("[]"), Review(R"({"spec":{"nodeName":1}})"),
           Review(R"({"spec":[]})"), Review(Pod(kAdmissionReviewPlain)) + "x",
           R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{}})",
           R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}})"}) {
    CAPTURE(body);
    CHECK_FALSE(AnswerReview(body, kAll).ok());
  }
}

TEST_CASE("only two values of the label say anything", "[kube][admission]") {
  CHECK(TakenPodsOf("gpu") == TakenPods::kGpu);
  CHECK(TakenPodsOf("all") == TakenPods::kAll);
  for (const char* value : {"", "GPU", "true", "gpus"})
    CHECK(TakenPodsOf(value) == TakenPods::kNone);
}

std::vector<config::YamlNode> Manifest(const std::string& path) {
  const std::string file = std::string(MUSTER_SOURCE_DIR) + "/manifests/admission/" + path;
  const auto text = config::ReadFile(file, 1U << 20U);
  REQUIRE(text.ok());
  auto documents = config::ParseYaml(*text, file, {});
  INFO((documents.ok() ? "" : documents.error().ToString()));
  REQUIRE(documents.ok());
  return *std::move(documents);
}

// "name: expression" of each, in order.
std::vector<std::string> Conditions(const config::YamlNode& of) {
  std::vector<std::string> all;
  const config::YamlNode* conditions = of.Find("matchConditions");
  REQUIRE(conditions != nullptr);
  for (const config::YamlNode& one : conditions->items)
    all.push_back(one.TextAt("name") + ": " + one.TextAt("expression"));
  return all;
}

TEST_CASE("policies and webhooks of the manifests have the same conditions, with these resources",
          "[kube][admission]") {
  const auto policies = Manifest("schedule/schedule.yaml");
  const auto configuration = Manifest("webhook/webhook.yaml");
  const auto others = Manifest("other-schedulers/other-schedulers.yaml");
  REQUIRE(policies.size() == 4);
  const config::YamlNode* webhooks = configuration.at(0).Find("webhooks");
  REQUIRE(webhooks != nullptr);
  REQUIRE(webhooks->items.size() == 2);
  const std::vector<std::string> gpu = Conditions(webhooks->items[0]);
  const std::vector<std::string> all = Conditions(webhooks->items[1]);
  CHECK(Conditions(*policies[0].Find("spec")) == gpu);
  CHECK(Conditions(*policies[2].Find("spec")) == all);
  CHECK(std::vector<std::string>(gpu.begin(), gpu.end() - 1) == all);
  for (const std::string& asks : {gpu.back(), Conditions(*others[0].Find("spec")).back()}) {
    CHECK_THAT(asks, Catch::StartsWith("asks-for-gpus: "));
    std::string resources;
    for (const char* name :
         {kGpuResource, kGpuMemoryResource, kGpuMemoryPercentResource, kGpuCoresResource})
      resources += (resources.empty() ? "['" : ", '") + std::string(name) + "'";
    CHECK_THAT(asks, Catch::Contains(resources + "]"));
    CHECK_THAT(asks, Catch::Contains(std::string("['") + kGpuFractionAnnotation + "', '" +
                                     kGpuMemoryAnnotation + "']"));
  }
  for (const char* label : {"jobset.sigs.k8s.io/jobset-name", "leaderworkerset.sigs.k8s.io/name",
                            "ray.io/cluster", "training.kubeflow.org/job-name"}) {
    CHECK_THAT(gpu.back(), Catch::Contains("'" + std::string(label) + "'"));
    CHECK(Patched(Pod(kAdmissionReviewPlain, R"("labels":{")" + std::string(label) + R"(":"x"})"),
                  TakenPods::kGpu) == kBoth);
  }
}

TEST_CASE("the webhook's rights are for two objects by name, and for nothing that can be made",
          "[kube][admission]") {
  std::vector<std::string> rights;
  for (const config::YamlNode& document : Manifest("webhook/permissions.yaml")) {
    const config::YamlNode* rules = document.Find("rules");
    if (rules == nullptr) continue;
    for (const config::YamlNode& rule : rules->items) {
      std::string text;
      for (const char* key : {"resources", "resourceNames", "verbs"}) {
        const config::YamlNode* list = rule.Find(key);
        REQUIRE(list != nullptr);
        for (const config::YamlNode& one : list->items) text += one.text + " ";
      }
      rights.push_back(document.TextAt("kind") + " " + text);
    }
  }
  CHECK(rights == std::vector<std::string>{
                      "Role secrets muster-webhook get patch ",
                      "ClusterRole mutatingwebhookconfigurations muster-schedule get patch "});
}

}  // namespace
}  // namespace muster::kube
