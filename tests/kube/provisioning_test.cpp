#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "kube/decode/decode.hpp"
#include "kube/decode/optional_kinds.hpp"
#include "kube/json/json.hpp"
#include "kube/watch/resource.hpp"
#include "kube/write/provisioning_objects.hpp"
#include "kube/write/provisioning_writer.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::ProvisioningRequest;
using cluster::RequestState;
using engine::OutcomeKind;

std::string RequestJson(const std::string& conditions, const std::string& annotations = "") {
  return R"({"apiVersion":"autoscaling.x-k8s.io/v1","kind":"ProvisioningRequest","metadata":{)"
         R"("name":"muster-train-0a1b2c3d-2","namespace":"team","uid":"u1","resourceVersion":"7",)"
         R"("creationTimestamp":"2027-01-15T08:00:00Z","annotations":{)" +
         annotations + R"(}},"spec":{"provisioningClassName":"x","podSets":[)" +
         R"({"count":1,"podTemplateRef":{"name":"a"}},{"count":3,"podTemplateRef":{"name":"b"}}]},)"
         R"("status":{"conditions":[)" +
         conditions + "]}}";
}

ProvisioningRequest DecodedRequest(const std::string& json) {
  const auto decoded = DecodeOptional(OptionalKind::kProvisioningRequests, json);
  REQUIRE((decoded.ok() ? "" : decoded.error().ToString()) == "");
  const auto* fact = std::get_if<engine::Fact>(&decoded->news);
  REQUIRE(fact != nullptr);
  return std::get<ProvisioningRequest>(*fact);
}

std::string ConditionJson(const std::string& type, const std::string& status,
                          const std::string& message, const std::string& at) {
  return R"({"type":")" + type + R"(","status":")" + status + R"(","reason":"R","message":")" +
         message + R"(","lastTransitionTime":")" + at + R"("})";
}

constexpr const char* kOurs =
    R"("muster.dev/asked-for":"gang/train","muster.dev/ask":"0a1b2c3d","muster.dev/attempt":"2")";

TEST_CASE("a ProvisioningRequest is read with what Muster wrote into it", "[kube][provisioning]") {
  const ProvisioningRequest request = DecodedRequest(RequestJson("", kOurs));
  CHECK(request.key.ToString() == "team/muster-train-0a1b2c3d-2");
  CHECK(request.uid.text() == "u1");
  CHECK(request.resource_version == 7);
  CHECK(request.gang.key.ToString() == "team/train");
  CHECK_FALSE(request.gang.solo);
  CHECK(request.fingerprint == "0a1b2c3d");
  CHECK(request.attempt == 2);
  CHECK(request.pod_sets == 2);
  CHECK(request.state == RequestState::kNew);
  CHECK(request.since.milliseconds() == 1'800'000'000'000);
  const ProvisioningRequest solo =
      DecodedRequest(RequestJson("", R"("muster.dev/asked-for":"pod/train-0")"));
  CHECK(solo.gang.solo);
  CHECK(solo.gang.key.name == "train-0");
  CHECK(solo.attempt == 1);
  CHECK(DecodedRequest(RequestJson("")).gang.key.name.empty());
}

TEST_CASE("of the conditions of a ProvisioningRequest the one that says most counts",
          "[kube][provisioning]") {
  const std::string accepted = ConditionJson("Accepted", "True", "ok", "2027-01-15T08:00:10Z");
  const std::string not_yet =
      ConditionJson("Provisioned", "False", "no room found", "2027-01-15T08:00:20Z");
  const std::string provisioned =
      ConditionJson("Provisioned", "True", "nodes come", "2027-01-15T08:00:30Z");
  const std::string expired =
      ConditionJson("BookingExpired", "True", "late", "2027-01-15T08:10:30Z");
  const std::string revoked =
      ConditionJson("CapacityRevoked", "True", "gone", "2027-01-15T08:01:00Z");
  const std::string failed = ConditionJson("Failed", "True", "no machines", "2027-01-15T08:02:00Z");
  struct Case {
    std::string conditions;
    RequestState want;
    std::string message;
    int64_t since;
  };
  const Case c = GENERATE_COPY(values<Case>({
      {accepted, RequestState::kAccepted, "", 10},
      {accepted + "," + not_yet, RequestState::kAccepted, "no room found", 10},
      {accepted + "," + provisioned, RequestState::kProvisioned, "nodes come", 30},
      {provisioned + "," + accepted, RequestState::kProvisioned, "nodes come", 30},
      {accepted + "," + provisioned + "," + expired, RequestState::kExpired, "late", 630},
      {accepted + "," + provisioned + "," + revoked, RequestState::kRevoked, "gone", 60},
      {expired + "," + failed, RequestState::kFailed, "no machines", 120},
      {ConditionJson("Failed", "False", "x", ""), RequestState::kNew, "", 0},
      {ConditionJson("Surprise", "True", "x", ""), RequestState::kNew, "", 0},
  }));
  CAPTURE(c.conditions);
  const ProvisioningRequest request = DecodedRequest(RequestJson(c.conditions, kOurs));
  CHECK(request.state == c.want);
  CHECK(request.message == c.message);
  CHECK(request.since.milliseconds() == 1'800'000'000'000 + c.since * 1000);
}

TEST_CASE("only requests that Muster made are listed and watched", "[kube][provisioning]") {
  const Resource resource = ProvisioningRequestResource("autoscaling.x-k8s.io/v1beta1");
  CHECK(resource.path == "/apis/autoscaling.x-k8s.io/v1beta1/provisioningrequests");
  CHECK(resource.selector == "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dmuster");
  const News gone = resource.removed("u1");
  const auto& fact = std::get<engine::Fact>(gone);
  CHECK(std::get<engine::ProvisioningRequestRemoved>(fact).uid.text() == "u1");
}

constexpr const char* kTrainPod =
    R"({"kind":"Pod","metadata":{"name":"train-0","namespace":"team","uid":"p0",)"
    R"("labels":{"app":"train"},"annotations":{"x":"y"},"ownerReferences":[)"
    R"({"apiVersion":"v1","kind":"Other","name":"o","uid":"o1"},)"
    R"({"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"j1","controller":true}]},)"
    R"("spec":{"nodeName":"n","schedulerName":"muster","priority":7,)"
    R"("schedulingGates":[{"name":"muster.dev/gang"}],"schedulingGroup":{"podGroupName":"train"},)"
    R"("nodeSelector":{"pool":"gpu"},"tolerations":[{"operator":"Exists"}],)"
    R"("containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":"8"}}}]},)"
    R"("status":{"phase":"Pending"}})";

TEST_CASE("a PodTemplate has the spec of its pod, but for what is that pod's alone",
          "[kube][provisioning]") {
  const auto pod = ReadPodModel(kTrainPod);
  REQUIRE(pod.ok());
  CHECK(pod->uid == "p0");
  CHECK(pod->owner.kind == "Job");
  CHECK(pod->owner.uid == "j1");
  CHECK(PodTemplateBody("t", "team", *pod, pod->owner) ==
        R"({"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"t","namespace":"team",)"
        R"("labels":{"app.kubernetes.io/managed-by":"muster"},"ownerReferences":[)"
        R"({"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"j1"}]},)"
        R"("template":{"metadata":{"labels":{"app":"train"}},"spec":{"schedulerName":"muster",)"
        R"("priority":7,"nodeSelector":{"pool":"gpu"},"tolerations":[{"operator":"Exists"}],)"
        R"("containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":"8"})"
        R"(}}]}}})");
  const auto alone = ReadPodModel(
      R"({"metadata":{"name":"bare","namespace":"team","uid":"b0"},"spec":{"containers":[]}})");
  REQUIRE(alone.ok());
  CHECK(alone->owner.kind == "Pod");
  CHECK(alone->owner.name == "bare");
  CHECK(alone->owner.uid == "b0");
  CHECK_FALSE(ReadPodModel(R"({"metadata":{"name":"bare"}})").ok());
}

TEST_CASE("a PodTemplate has no volume that its pod alone may use", "[kube][provisioning]") {
  const auto pod = ReadPodModel(
      R"({"metadata":{"name":"serve-0","namespace":"team","uid":"p0"},"spec":{"volumes":[)"
      R"({"name":"cache","persistentVolumeClaim":{"claimName":"cache-serve-0"}},)"
      R"({"name":"data","persistentVolumeClaim":{"claimName":"datasets"}},)"
      R"({"name":"tmp","emptyDir":{}}],"initContainers":[{"name":"fetch","volumeMounts":[)"
      R"({"name":"cache","mountPath":"/c"}]}],"containers":[{"name":"main","volumeMounts":[)"
      R"({"name":"cache","mountPath":"/c"},{"name":"data","mountPath":"/d"}],)"
      R"("volumeDevices":[]}]}})");
  REQUIRE(pod.ok());
  CHECK(pod->spec ==
        R"({"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"datasets"}},)"
        R"({"name":"tmp","emptyDir":{}}],"initContainers":[{"name":"fetch","volumeMounts":[]}],)"
        R"("containers":[{"name":"main","volumeMounts":[{"name":"data","mountPath":"/d"}],)"
        R"("volumeDevices":[]}]})");
}

engine::AskForNodes TrainAsk() {
  engine::AskForNodes ask;
  ask.id = {5};
  ask.key = {"team", "muster-train-0a1b2c3d-2"};
  ask.gang = {{"team", "train"}, false};
  ask.class_name = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
  ask.fingerprint = "0a1b2c3d";
  ask.attempt = 2;
  ask.sets = {{{"team", "train-0"}, cluster::PodUid("p0"), "", 4, nullptr}};
  return ask;
}

TEST_CASE("the body of a request says for which gang it is, and which try",
          "[kube][provisioning]") {
  CHECK(ProvisioningRequestBody(TrainAsk(), {"batch/v1", "Job", "train", "j1"}, "v1") ==
        R"({"apiVersion":"autoscaling.x-k8s.io/v1","kind":"ProvisioningRequest","metadata":{)"
        R"("name":"muster-train-0a1b2c3d-2","namespace":"team",)"
        R"("labels":{"app.kubernetes.io/managed-by":"muster"},"ownerReferences":[)"
        R"({"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"j1"}],"annotations":{)"
        R"("muster.dev/asked-for":"gang/train","muster.dev/ask":"0a1b2c3d",)"
        R"("muster.dev/attempt":"2"}},"spec":{)"
        R"("provisioningClassName":"best-effort-atomic-scale-up.autoscaling.x-k8s.io",)"
        R"("podSets":[{"count":4,"podTemplateRef":{"name":"muster-train-0a1b2c3d-2-0"}}]}})");
}

constexpr const char* kTemplates = "/api/v1/namespaces/team/podtemplates";
constexpr const char* kTrainRequests =
    "/apis/autoscaling.x-k8s.io/v1/namespaces/team/provisioningrequests";
constexpr const char* kOldRequests =
    "/apis/autoscaling.x-k8s.io/v1beta1/namespaces/team/provisioningrequests";
constexpr const char* kPodPath = "/api/v1/namespaces/team/pods/train-0";

// A writer beside a fake API server, and what it reports.
struct WriterWorld {
  FakeApi api;
  bool leads = true;
  std::vector<engine::Outcome> outcomes;
  std::vector<std::string> warned;
  std::optional<ServedPodGroups> served;
  ProvisioningWriter writer{{.api = api,
                             .find = [this](const cluster::PodGroupUid&) { return served; },
                             .may_write = [this] { return leads; },
                             .report = [this](const auto& one) { outcomes.push_back(one); },
                             .warn = [this](const auto& what) { warned.push_back(what); }}};

  WriterWorld() {
    api.On(Method::kGet, kPodPath, Reply(200, kTrainPod));
    api.On(Method::kPost, kTemplates, Reply(201));
    api.On(Method::kPost, kTrainRequests, Reply(201));
  }
  engine::Outcome Ask(const engine::AskForNodes& ask = TrainAsk()) {
    writer.Want(ask);
    return Step();
  }
  engine::Outcome Step() {
    writer.Step({cluster::Time(1), cluster::Time(1)});
    CHECK(writer.Step({cluster::Time(1), cluster::Time(1)}) == cluster::Time::Never());
    REQUIRE(outcomes.size() == 1);
    return outcomes.front();
  }
};

TEST_CASE("templates are made before the request that names them", "[kube][provisioning]") {
  WriterWorld world;
  const engine::Outcome outcome = world.Ask();
  CHECK(outcome.id.value == 5);
  CHECK(outcome.kind == OutcomeKind::kDone);
  CHECK(world.api.lines() == std::vector<std::string>{"GET " + std::string(kPodPath),
                                                      "POST " + std::string(kTemplates),
                                                      "POST " + std::string(kTrainRequests)});
  CHECK(world.api.requests()[2].body.find(R"("kind":"Job","name":"train","uid":"j1")") !=
        std::string::npos);
}

TEST_CASE("a PodGroup owns what is made for its gang", "[kube][provisioning]") {
  WriterWorld world;
  world.served =
      ServedPodGroups{PodGroupFlavour::kSchedulerPlugins, "scheduling.x-k8s.io", "v1alpha1", true};
  engine::AskForNodes ask = TrainAsk();
  ask.group = cluster::PodGroupUid("g1");
  CHECK(world.Ask(ask).kind == OutcomeKind::kDone);
  for (const size_t i : {size_t{1}, size_t{2}}) {
    CHECK(world.api.requests()[i].body.find(
              R"("ownerReferences":[{"apiVersion":"scheduling.x-k8s.io/v1alpha1",)"
              R"("kind":"PodGroup","name":"train","uid":"g1"}])") != std::string::npos);
  }
}

TEST_CASE("what is there already is as good as made", "[kube][provisioning]") {
  WriterWorld world;
  world.api.On(Method::kPost, kTemplates, Refusal(409, "already exists"));
  world.api.On(Method::kPost, kTrainRequests, Refusal(409, "already exists"));
  CHECK(world.Ask().kind == OutcomeKind::kDone);
}

TEST_CASE("an API server that serves the older version alone is asked in it",
          "[kube][provisioning]") {
  WriterWorld world;
  world.api.On(Method::kPost, kTrainRequests, Reply(404, "404 page not found"));
  world.api.On(Method::kPost, kOldRequests, Reply(201));
  CHECK(world.Ask().kind == OutcomeKind::kDone);
  CHECK(world.api.requests().back().body.find("autoscaling.x-k8s.io/v1beta1") != std::string::npos);
}

TEST_CASE("what keeps a request from being made is reported", "[kube][provisioning]") {
  WriterWorld world;
  SECTION("no CRD") {
    world.api.On(Method::kPost, kTrainRequests, Reply(404, "404 page not found"));
    world.api.On(Method::kPost, kOldRequests, Reply(404, "404 page not found"));
    const engine::Outcome outcome = world.Ask();
    CHECK(outcome.kind == OutcomeKind::kRefused);
    CHECK(outcome.message.find("install the CRD of cluster-autoscaler") != std::string::npos);
  }
  SECTION("no right") {
    world.api.On(Method::kPost, kTemplates, Refusal(403, "podtemplates is forbidden"));
    const engine::Outcome outcome = world.Ask();
    CHECK(outcome.kind == OutcomeKind::kRefused);
    CHECK(outcome.message.find("podtemplates is forbidden") != std::string::npos);
  }
  SECTION("the pod is gone") {
    world.api.On(Method::kGet, kPodPath, Refusal(404, "pods \"train-0\" not found"));
    CHECK(world.Ask().kind == OutcomeKind::kGone);
  }
  SECTION("the pod is another one now") {
    engine::AskForNodes ask = TrainAsk();
    ask.sets[0].uid = cluster::PodUid("before");
    CHECK(world.Ask(ask).kind == OutcomeKind::kGone);
    CHECK(world.api.lines().size() == 1);
  }
  SECTION("the API server is down") {
    world.api.On(Method::kPost, kTrainRequests, NoConnection());
    CHECK(world.Ask().kind == OutcomeKind::kRetry);
  }
  SECTION("another one leads") {
    world.leads = false;
    CHECK(world.Ask().kind == OutcomeKind::kRetry);
    CHECK(world.api.lines().empty());
  }
}

TEST_CASE("a request is deleted by its UID, and its templates with it", "[kube][provisioning]") {
  WriterWorld world;
  const std::string path = std::string(kTrainRequests) + "/muster-train-0a1b2c3d-2";
  const std::string made = std::string(kTemplates) + "/muster-train-0a1b2c3d-2-";
  const engine::WithdrawAsk withdraw{
      {6}, {"team", "muster-train-0a1b2c3d-2"}, cluster::ProvisioningRequestUid("u1"), 2};
  for (const char* set : {"0", "1"}) world.api.On(Method::kDelete, made + set, Reply(200));
  world.api.On(Method::kDelete, path, Reply(200));
  SECTION("all are there") {
    world.writer.Want(withdraw);
    CHECK(world.Step().kind == OutcomeKind::kDone);
    CHECK(world.api.lines() == std::vector<std::string>{"DELETE " + path, "DELETE " + made + "0",
                                                        "DELETE " + made + "1"});
    CHECK(world.api.requests().front().body ==
          R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u1"}})");
  }
  SECTION("it is gone") {
    world.api.On(Method::kDelete, path, Reply(404, R"({"kind":"Status","reason":"NotFound"})"));
    world.writer.Want(withdraw);
    CHECK(world.Step().kind == OutcomeKind::kDone);
    CHECK(world.api.lines().size() == 3);
  }
  SECTION("another one has its name") {
    world.api.On(Method::kDelete, path, Refusal(409, "the UID is another one"));
    world.writer.Want(withdraw);
    CHECK(world.Step().kind == OutcomeKind::kDone);
  }
  SECTION("templates may not be deleted: their owner takes them along") {
    world.api.On(Method::kDelete, made + "0", Refusal(403, "forbidden"));
    world.writer.Want(withdraw);
    CHECK(world.Step().kind == OutcomeKind::kDone);
    CHECK(world.warned.size() == 1);
  }
  SECTION("the API server is down") {
    world.api.On(Method::kDelete, path, NoConnection());
    world.writer.Want(withdraw);
    CHECK(world.Step().kind == OutcomeKind::kRetry);
  }
}

}  // namespace
}  // namespace muster::kube
