#include "kube/write/pod_writes.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace muster::kube {
namespace {

using engine::OutcomeKind;

const engine::PodRef kPod{{"team", "a"}, cluster::PodUid("u-1")};
const PodWrite kBind =
    engine::BindPod{{1}, kPod, "node-7", {cluster::GpuIndex{0}, cluster::GpuIndex{3}}};

cluster::Pod PlainPod() {
  cluster::Pod pod;
  pod.key = kPod.key;
  pod.uid = kPod.uid;
  return pod;
}

ApiReply Answer(int status) {
  return {.status = status,
          .body = R"({"kind":"Status","message":"because","code":)" + std::to_string(status) + "}"};
}

TEST_CASE("every write names the UID, and a Binding the version too", "[kube][writes]") {
  const ApiRequest nominate = RequestOf(engine::Nominate{{1}, kPod, "node-7"}, {});
  CHECK(nominate.path == "/api/v1/namespaces/team/pods/a/status");
  CHECK(nominate.content_type == "application/merge-patch+json");
  CHECK(nominate.metadata_only);
  CHECK(nominate.body == R"({"metadata":{"uid":"u-1"},"status":{"nominatedNodeName":"node-7"}})");
  CHECK(RequestOf(engine::Nominate{{1}, kPod, ""}, {}).body ==
        R"({"metadata":{"uid":"u-1"},"status":{"nominatedNodeName":null}})");
  CHECK(RequestOf(engine::Nominate{{1}, kPod, "node-7", true}, {.epoch = "3 m-0"}).body ==
        R"({"metadata":{"uid":"u-1","annotations":{"muster.dev/epoch":"3 m-0"}},)"
        R"("status":{"nominatedNodeName":"node-7"}})");

  const ApiRequest release = RequestOf(engine::RemoveGate{{1}, kPod}, {.epoch = "3 m-0"});
  CHECK(release.path == "/api/v1/namespaces/team/pods/a");
  CHECK(release.content_type == "application/strategic-merge-patch+json");
  CHECK(release.metadata_only);
  CHECK(release.body == R"({"metadata":{"uid":"u-1","annotations":{"muster.dev/epoch":"3 m-0"}},)"
                        R"("spec":{"schedulingGates":[{"$patch":"delete",)"
                        R"("name":"muster.dev/gang"}]}})");

  auto spec = std::make_shared<cluster::PodSpec>();
  const auto pinned = [&] {
    return RequestOf(engine::RemoveGate{{1}, kPod, "node-7", spec}, {}).body;
  };
  const std::string only = R"("matchFields":[{"key":"metadata.name","operator":"In",)"
                           R"("values":["node-7"]}])";
  CHECK_THAT(pinned(), Catch::Contains(R"("nodeSelectorTerms":[{)" + only + "}]"));
  // What was asked for already stays, in every term.
  spec->constraints.has_affinity = true;
  spec->constraints.affinity_terms = {{{{"gpu", cluster::SelectorOperator::kExists, {}}}, {}}};
  CHECK_THAT(pinned(), Catch::Contains(R"("nodeSelectorTerms":[{"matchExpressions":[{"key":"gpu",)"
                                       R"("operator":"Exists"}],)" +
                                       only + "}]"));

  CHECK(RequestOf(engine::WakePod{{1}, kPod}, {.nonce = 5, .epoch = "3 m-0"}).body ==
        R"({"metadata":{"uid":"u-1","annotations":{"muster.dev/epoch":"3 m-0",)"
        R"("muster.dev/wake":"5"}}})");

  // The pod's own message, and none of its conditions.
  const ApiRequest tell = RequestOf(engine::TellPod{{1}, kPod, "muster: it waits"}, {});
  CHECK(tell.path == "/api/v1/namespaces/team/pods/a/status");
  CHECK(tell.content_type == "application/merge-patch+json");
  CHECK(tell.body == R"({"metadata":{"uid":"u-1"},"status":{"message":"muster: it waits"}})");
  CHECK(RequestOf(engine::Nominate{{1}, kPod, "n1", false, true}, {}).body ==
        R"({"metadata":{"uid":"u-1"},"status":{"nominatedNodeName":"n1","message":null}})");

  const ApiRequest fence = FenceRequest(kPod, "4 m-1");
  CHECK(fence.path == "/api/v1/namespaces/team/pods/a/status");
  CHECK(fence.content_type == "application/merge-patch+json");
  CHECK_FALSE(fence.metadata_only);
  CHECK(fence.body == R"({"metadata":{"uid":"u-1","annotations":{"muster.dev/epoch":"4 m-1"}}})");

  const ApiRequest bind = RequestOf(kBind, {.resource_version = 44});
  CHECK(bind.lane == Lane::kBind);
  CHECK(bind.path == "/api/v1/namespaces/team/pods/a/binding");
  CHECK(bind.body ==
        R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a","namespace":"team",)"
        R"("uid":"u-1","resourceVersion":"44","annotations":{"muster.dev/bound-by":"muster",)"
        R"("muster.dev/gpus":"0,3"}},"target":{"apiVersion":"v1","kind":"Node","name":"node-7"}})");

  auto ranked = std::get<engine::BindPod>(kBind);
  ranked.gpus.clear();
  ranked.rank = 3;
  ranked.topology_path = "b1/r1/node-7";
  CHECK_THAT(
      RequestOf(ranked, {}).body,
      Catch::Contains(R"("annotations":{"muster.dev/bound-by":"muster",)"
                      R"("muster.dev/rank":"3","muster.dev/topology-path":"b1/r1/node-7"}})"));

  auto known = std::get<engine::BindPod>(kBind);
  known.gpu_uuids = "GPU-0,GPU-3";
  CHECK_THAT(RequestOf(known, {}).body,
             Catch::Contains(R"("muster.dev/gpus":"0,3","muster.dev/gpu-uuids":"GPU-0,GPU-3"}})"));

  auto hami = std::get<engine::BindPod>(kBind);
  hami.hami_devices = "GPU-0,NVIDIA,3000,30:;;";
  CHECK_THAT(RequestOf(hami, {.now = 1'800'000'000}).body,
             Catch::Contains(R"("muster.dev/gpus":"0,3","hami.io/vgpu-node":"node-7",)"
                             R"("hami.io/vgpu-time":"1800000000",)"
                             R"("hami.io/bind-phase":"allocating",)"
                             R"("hami.io/bind-time":"1800000000",)"
                             R"("hami.io/vgpu-devices-to-allocate":"GPU-0,NVIDIA,3000,30:;;",)"
                             R"("hami.io/vgpu-devices-allocated":"GPU-0,NVIDIA,3000,30:;;"}})"));

  const ApiRequest turn = RequestOf(engine::EndHamiTurn{{1}, kPod}, {});
  CHECK(turn.path == "/api/v1/namespaces/team/pods/a");
  CHECK(turn.content_type == "application/merge-patch+json");
  CHECK(turn.body == R"({"metadata":{"uid":"u-1","annotations":{"hami.io/bind-time":null}}})");

  CHECK(RequestOf(engine::EvictPod{{1}, kPod, "partial"}, {.dry_run = true}).body ==
        R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a",)"
        R"("namespace":"team"},"deleteOptions":{"preconditions":{"uid":"u-1"},"dryRun":["All"]}})");
  CHECK(RequestOf(engine::EvictPod{{1}, kPod, "", {}, cluster::Seconds(600)}, {}).body ==
        R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a",)"
        R"("namespace":"team"},"deleteOptions":{"preconditions":{"uid":"u-1"},)"
        R"("gracePeriodSeconds":600}})");
}

TEST_CASE("who goes over budgets is marked as kube-scheduler's preemption does it, and deleted",
          "[kube][writes]") {
  const engine::EvictPod evict{{1}, kPod, "evicted for x", {}, cluster::Seconds(600), true};
  const ApiRequest target = DisruptionTargetOf(evict, {.now = 1'800'000'000});
  CHECK(target.method == Method::kPatch);
  CHECK(target.path == "/api/v1/namespaces/team/pods/a/status");
  CHECK(target.content_type == "application/strategic-merge-patch+json");
  CHECK(target.body ==
        R"({"metadata":{"uid":"u-1"},"status":{"conditions":[{"type":"DisruptionTarget",)"
        R"("status":"True","reason":"PreemptionByScheduler","message":"Muster: evicted for x",)"
        R"("lastTransitionTime":"2027-01-15T08:00:00Z"}]}})");
  const ApiRequest deletion = DeletionOf(evict, {.dry_run = true});
  CHECK(deletion.method == Method::kDelete);
  CHECK(deletion.path == "/api/v1/namespaces/team/pods/a");
  CHECK(deletion.body == R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":)"
                         R"({"uid":"u-1"},"gracePeriodSeconds":600,"dryRun":["All"]})");
}

TEST_CASE("what an answer says is taken, what it leaves open is looked up", "[kube][writes]") {
  struct Case {
    int status;
    Standing standing;
    OutcomeKind kind;
  };
  const Case cases[] = {{200, Standing::kSettled, OutcomeKind::kDone},
                        {201, Standing::kSettled, OutcomeKind::kDone},
                        {400, Standing::kLook, OutcomeKind::kRefused},
                        {403, Standing::kLater, OutcomeKind::kRefused},
                        {404, Standing::kSettled, OutcomeKind::kGone},
                        {409, Standing::kLook, OutcomeKind::kConflict},
                        {422, Standing::kLook, OutcomeKind::kConflict},
                        {429, Standing::kLater, OutcomeKind::kRetry},
                        {500, Standing::kLook, OutcomeKind::kRetry},
                        {504, Standing::kLook, OutcomeKind::kRetry}};
  for (const Case& one : cases) {
    CAPTURE(one.status);
    const Verdict verdict = JudgeAnswer(kBind, Answer(one.status));
    CHECK(verdict.standing == one.standing);
    CHECK(verdict.kind == one.kind);
    if (one.status >= 400) CHECK_THAT(verdict.message, Catch::Contains("because"));
  }
  const Verdict silence =
      JudgeAnswer(kBind, cluster::Error{cluster::Code::kUnavailable, "no answer", ""});
  CHECK(silence.standing == Standing::kLook);
  // A budget protects the pod: for the engine to wait, not for us to insist.
  const PodWrite evict = engine::EvictPod{{1}, kPod, "partial"};
  CHECK(JudgeAnswer(evict, Answer(429)).standing == Standing::kSettled);
}

TEST_CASE("a pod that was looked at settles what was unknown", "[kube][writes]") {
  const Verdict unknown{Standing::kLook, OutcomeKind::kRetry, "no answer"};
  CHECK(JudgePod(kBind, std::nullopt, unknown).kind == OutcomeKind::kGone);
  cluster::Pod pod = PlainPod();
  pod.uid = cluster::PodUid("u-2");
  CHECK(JudgePod(kBind, pod, unknown).kind == OutcomeKind::kGone);

  pod = PlainPod();
  CHECK(JudgePod(kBind, pod, unknown).standing == Standing::kLater);
  pod.node_name = "node-7";
  CHECK(JudgePod(kBind, pod, unknown).kind == OutcomeKind::kDone);
  pod.node_name = "node-8";
  CHECK(JudgePod(kBind, pod, unknown).kind == OutcomeKind::kConflict);

  pod = PlainPod();
  pod.gates = {"example.com/wait"};
  CHECK(JudgePod(kBind, pod, unknown).message == "held by gate example.com/wait");
  pod = PlainPod();
  pod.deleting = true;
  CHECK(JudgePod(kBind, pod, unknown).kind == OutcomeKind::kConflict);
  CHECK(JudgePod(engine::EvictPod{{1}, kPod, ""}, pod, unknown).kind == OutcomeKind::kDone);

  pod = PlainPod();
  pod.nominated_node = "node-7";
  CHECK(JudgePod(engine::Nominate{{1}, kPod, "node-7"}, pod, unknown).kind == OutcomeKind::kDone);
  CHECK(JudgePod(engine::RemoveGate{{1}, kPod}, pod, unknown).kind == OutcomeKind::kDone);
  pod.gates = {cluster::kGangGate};
  CHECK(JudgePod(engine::RemoveGate{{1}, kPod}, pod, unknown).standing == Standing::kLater);

  const Verdict refused{Standing::kLook, OutcomeKind::kRefused, "denied by a webhook"};
  CHECK(JudgePod(kBind, PlainPod(), refused).kind == OutcomeKind::kRefused);
}

TEST_CASE("a Binding says which ProvisioningRequest brought the node", "[kube][writes]") {
  engine::BindPod bind{{1}, kPod, "node-7", {}};
  CHECK(RequestOf(bind, {}).body.find("provisioning") == std::string::npos);
  bind.consumes = "muster-train-0a1b2c3d-1";
  bind.request_class = cluster::kBestEffortAtomicClass;
  CHECK(RequestOf(bind, {}).body.find(
            R"("autoscaling.x-k8s.io/consume-provisioning-request":"muster-train-0a1b2c3d-1",)"
            R"("autoscaling.x-k8s.io/provisioning-class-name":)"
            R"("best-effort-atomic-scale-up.autoscaling.x-k8s.io")") != std::string::npos);
}

}  // namespace
}  // namespace muster::kube
