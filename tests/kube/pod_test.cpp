#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

using cluster::GpuIndex;
using cluster::Pod;
using cluster::PodPhase;
using cluster::SelectorOperator;
using cluster::TaintEffect;
using cluster::Toleration;

// A pod with these members of metadata, spec and status beside the least that it needs.
std::string PodText(const std::string& metadata, const std::string& spec = "",
                    const std::string& status = "") {
  return R"({"metadata":{"name":"p","namespace":"n","uid":"u")" + metadata +
         R"(},"spec":{"containers":[{"name":"c"}])" + spec + R"(},"status":{)" + status + "}}";
}

Pod Decode(const std::string& text, const DecodeOptions& options = {}) {
  const cluster::Result<Pod> pod = DecodePod(text, options);
  REQUIRE(pod.ok());
  return *pod;
}

std::string ErrorOf(const std::string& text, const DecodeOptions& options = {}) {
  const cluster::Result<Pod> pod = DecodePod(text, options);
  return pod.ok() ? "" : pod.error().ToString();
}

TEST_CASE("a pod from the API server", "[kube][pod]") {
  const Pod pod = Decode(R"({"kind":"Pod","apiVersion":"v1",
    "metadata":{"name":"train-0","namespace":"ml","uid":"9f1c","resourceVersion":"8123",
      "creationTimestamp":"2024-05-01T09:30:00Z","deletionTimestamp":"2024-05-01T10:00:00Z",
      "labels":{"scheduling.x-k8s.io/pod-group":"train","muster.dev/role":"worker"},
      "annotations":{"muster.dev/gpus":"0,3"},
      "ownerReferences":[{"kind":"Other","uid":"x","name":"x"},
                         {"kind":"Job","uid":"job-uid","name":"train","controller":true}],
      "managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{}}}]},
    "spec":{"nodeName":"node-1","schedulerName":"muster","priority":-5,
      "terminationGracePeriodSeconds":3600,"nodeSelector":{"a":"b"},
      "containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],
      "schedulingGates":[{"name":"muster.dev/gang"},{"name":"other"}]},
    "status":{"phase":"Running","nominatedNodeName":"node-2"}})");
  CHECK(pod.defect.empty());
  CHECK(pod.uid.text() == "9f1c");
  CHECK(pod.key.ToString() == "ml/train-0");
  CHECK(pod.resource_version == 8123);
  CHECK(pod.created.milliseconds() == 1714555800000);
  CHECK(pod.deleting);
  CHECK(pod.grace == cluster::Seconds(3600));
  CHECK(pod.pod_group == "train");
  CHECK(pod.role == "worker");
  CHECK(pod.owner_uid == "job-uid");
  CHECK_FALSE(pod.daemon);
  CHECK(pod.phase == PodPhase::kRunning);
  CHECK(pod.gates == std::vector<std::string>{"muster.dev/gang", "other"});
  CHECK(pod.nominated_node == "node-2");
  CHECK(pod.node_name == "node-1");
  CHECK(pod.bound_gpus == std::vector<GpuIndex>{GpuIndex{0}, GpuIndex{3}});
  CHECK(pod.spec->priority == -5);
  CHECK(pod.spec->scheduler_name == "muster");
  CHECK(pod.spec->constraints.node_selector == cluster::Labels{{"a", "b"}});
}

TEST_CASE("a pod that cannot be identified is refused", "[kube][pod]") {
  CHECK(ErrorOf(R"({"metadata":{"name":"p","namespace":"n"},"spec":{}})") ==
        "Pod.metadata.uid: is missing");
  CHECK(ErrorOf(R"({"metadata":{"namespace":"n","uid":"u"}})") == "Pod.metadata.name: is missing");
  CHECK(ErrorOf(R"({"metadata":{"name":"p","uid":"u"}})") == "Pod.metadata.namespace: is missing");
  CHECK(ErrorOf(R"({"metadata":{"name":5,"namespace":"n","uid":"u"}})") ==
        "Pod.metadata.name: expected a text, found a number");
  CHECK(ErrorOf(R"({"metadata":null})") == "Pod.metadata: is missing");
  CHECK(ErrorOf("null") == "Pod: is missing");
  CHECK(ErrorOf("[]") == "Pod: expected an object, found a list");
  CHECK(ErrorOf(R"({"kind":"Node","metadata":{"name":"p","namespace":"n","uid":"u"}})") ==
        "Pod.kind: expected Pod");
  CHECK(ErrorOf(PodText(R"(,"creationTimestamp":"yesterday")")) ==
        "Pod.metadata.creationTimestamp: expected a timestamp such as 2024-05-01T09:30:00Z");
}

TEST_CASE("a manifest may leave out what the API server fills in", "[kube][pod]") {
  const std::map<std::string, int32_t> classes = {{"high", 1000}};
  DecodeOptions options;
  options.source = Source::kManifest;
  options.priority_classes = &classes;
  const std::string head = R"({"metadata":{"name":"p"},"spec":{"containers":[{}])";
  Pod pod = Decode(head + R"(,"priorityClassName":"high"}})", options);
  CHECK(pod.uid.empty());
  CHECK(pod.key.ns == "default");
  CHECK(pod.spec->scheduler_name == "default-scheduler");
  CHECK(pod.spec->priority == 1000);
  CHECK(pod.defect.empty());
  pod = Decode(head + R"(,"priorityClassName":"system-node-critical"}})", options);
  CHECK(pod.spec->priority == 2'000'001'000);
  pod = Decode(head + R"(,"priorityClassName":"high","priority":7}})", options);
  CHECK(pod.spec->priority == 7);
  pod = Decode(head + R"(,"priorityClassName":"low"}})", options);
  CHECK(pod.defect ==
        "Pod.spec.priorityClassName: there is no such PriorityClass: create it first, or in the "
        "same file");
  options.priority_classes = nullptr;
  pod = Decode(head + R"(,"priorityClassName":"low"}})", options);
  CHECK(pod.spec->priority == 0);
  CHECK(pod.defect.empty());
  CHECK(ErrorOf(R"({"metadata":{},"spec":{}})", options) == "Pod.metadata.name: is missing");
}

TEST_CASE("the first link to a PodGroup counts", "[kube][pod]") {
  const std::string native = R"(,"schedulingGroup":{"podGroupName":"native"})";
  struct Case {
    std::string labels;
    std::string annotations;
    std::string spec;
    std::string want;
  };
  const std::string all_labels =
      R"("scheduling.x-k8s.io/pod-group":"x","scheduling.k8s.io/pod-group":"plain",)"
      R"("pod-group.scheduling.sigs.k8s.io":"sigs")";
  const std::string all_annotations =
      R"("scheduling.k8s.io/group-name":"volcano","scheduling.volcano.sh/group-name":"volcano2",)"
      R"("pod-group-name":"kai")";
  const Case c = GENERATE_COPY(values<Case>({
      {"", "", "", ""},
      {all_labels, all_annotations, native, "native"},
      {all_labels, all_annotations, "", "x"},
      {R"("scheduling.k8s.io/pod-group":"plain","pod-group.scheduling.sigs.k8s.io":"sigs")",
       all_annotations, "", "plain"},
      {R"("pod-group.scheduling.sigs.k8s.io":"sigs")", all_annotations, "", "sigs"},
      {"", all_annotations, "", "volcano"},
      {"", R"("scheduling.volcano.sh/group-name":"volcano2","pod-group-name":"kai")", "",
       "volcano2"},
      {"", R"("pod-group-name":"kai")", "", "kai"},
      {R"("scheduling.x-k8s.io/pod-group":"")", R"("pod-group-name":"kai")", "", "kai"},
      {R"("kueue.x-k8s.io/pod-group-name":"kueue")", "", "", "kueue"},
      {R"("kueue.x-k8s.io/pod-group-name":"kueue")", R"("kueue.x-k8s.io/pod-group-serving":"true")",
       "", ""},
      {R"("kueue.x-k8s.io/pod-group-name":"kueue","grove.io/podgang":"gang")",
       R"("kueue.x-k8s.io/pod-group-serving":"true")", "", "gang"},
  }));
  CAPTURE(c.want);
  CHECK(Decode(PodText(R"(,"labels":{)" + c.labels + R"(},"annotations":{)" + c.annotations + "}",
                       c.spec))
            .pod_group == c.want);
}

TEST_CASE("the first word about the role counts", "[kube][pod]") {
  const std::string muster = R"("muster.dev/role":"a")";
  const std::string kai = R"("kai.scheduler/subgroup-name":"c")";
  const std::string volcano = R"(,"annotations":{"volcano.sh/task-spec":"b"})";
  CHECK(Decode(PodText(R"(,"labels":{)" + muster + "," + kai + "}" + volcano)).role == "a");
  CHECK(Decode(PodText(R"(,"labels":{)" + kai + "}" + volcano)).role == "b");
  const std::string volcano_label = R"("volcano.sh/task-spec":"l")";
  CHECK(Decode(PodText(R"(,"labels":{)" + volcano_label + "}" + volcano)).role == "b");
  CHECK(Decode(PodText(R"(,"labels":{)" + volcano_label + "," + kai + "}")).role == "l");
  CHECK(Decode(PodText(R"(,"labels":{)" + kai + "}")).role == "c");
  CHECK(Decode(PodText("")).role.empty());
}

TEST_CASE("pods of DaemonSets and static pods are daemons", "[kube][pod]") {
  const std::string owner = R"(,"ownerReferences":[{"kind":"DaemonSet","uid":"d","name":"d")";
  CHECK(Decode(PodText(owner + R"(,"controller":true}])")).daemon);
  CHECK_FALSE(Decode(PodText(owner + "}]")).daemon);
  CHECK(Decode(PodText(R"(,"annotations":{"kubernetes.io/config.mirror":"ab12"})")).daemon);
}

TEST_CASE("planned GPU indices that are malformed are ignored", "[kube][pod]") {
  const std::string text =
      GENERATE("", "x", "0,", ",0", "0,,1", "-1", "0, 1", "1,1", "65536", "1.5");
  CAPTURE(text);
  const Pod pod = Decode(PodText(R"(,"annotations":{"muster.dev/gpus":")" + text + R"("})"));
  CHECK(pod.bound_gpus.empty());
  CHECK(pod.defect.empty());
}

TEST_CASE("phases", "[kube][pod]") {
  CHECK(Decode(PodText("")).phase == PodPhase::kPending);
  CHECK(Decode(PodText("", "", R"("phase":"Pending")")).phase == PodPhase::kPending);
  CHECK(Decode(PodText("", "", R"("phase":"Succeeded")")).phase == PodPhase::kSucceeded);
  CHECK(Decode(PodText("", "", R"("phase":"Failed")")).phase == PodPhase::kFailed);
  CHECK(Decode(PodText("", "", R"("phase":"Unknown")")).phase == PodPhase::kUnknown);
  CHECK(Decode(PodText("", "", R"("phase":"Later")")).phase == PodPhase::kUnknown);
}

TEST_CASE("whom HAMi's plugin may serve is read from annotations and status", "[kube][pod][hami]") {
  const auto turn = [](const std::string& annotations, const std::string& status) {
    return Decode(PodText(R"(,"annotations":{"hami.io/vgpu-node":"h")" + annotations + "}",
                          R"(,"nodeName":"h")", R"("phase":"Pending")" + status))
        .hami_turn;
  };
  using cluster::HamiTurn;
  const std::string at = R"(,"hami.io/bind-time":"1800000000")";
  const std::string allocating = R"(,"hami.io/bind-phase":"allocating")";
  const std::string begun = R"(,"startTime":"2026-08-21T06:20:39Z")";
  CHECK(turn(at + allocating, "") == HamiTurn::kAllocating);
  CHECK(turn(at + allocating, begun) == HamiTurn::kServed);
  CHECK(turn(at + R"(,"hami.io/bind-phase":"success")", begun) == HamiTurn::kServed);
  CHECK(turn(allocating, "") == HamiTurn::kNone);
  CHECK(turn(at, "") == HamiTurn::kNone);
}

TEST_CASE("why kube-scheduler finds no node is read from the condition", "[kube][pod]") {
  const auto words = [](const std::string& condition, const std::string& spec = "") {
    const Pod pod = Decode(PodText("", spec,
                                   R"("conditions":[{"type":"PodReadyToStartContainers"},)"
                                   R"({"type":"PodScheduled",)" +
                                       condition + "}]"));
    CHECK(pod.defect.empty());
    return pod.unschedulable == nullptr ? "none" : *pod.unschedulable;
  };
  const std::string said = R"(,"reason":"Unschedulable","message":"0/2 nodes are available")";
  CHECK(words(R"("status":"False")" + said) == "0/2 nodes are available");
  CHECK(words(R"("status":"False","reason":"Unschedulable")").empty());
  CHECK(words(R"("status":"True")" + said) == "none");
  CHECK(words(R"("status":"False")" + said, R"(,"nodeName":"n")") == "none");
  CHECK(words(R"("status":"False","reason":"SchedulingGated","message":"gates")") == "none");
  CHECK(words(R"("status":"False","reason":"SchedulerError","message":"extender")") == "none");
  const std::string cut = words(R"("status":"False","reason":"Unschedulable","message":")" +
                                std::string(3'000, 'x') + R"(")");
  CHECK(cut.size() <= 600);
  CHECK(cut.starts_with("xxx"));
}

TEST_CASE("a resource version that is no number is not known", "[kube][pod]") {
  CHECK(Decode(PodText(R"(,"resourceVersion":"abc")")).resource_version == 0);
  CHECK(Decode(PodText(R"(,"resourceVersion":"12x")")).resource_version == 0);
  CHECK(Decode(PodText(R"(,"resourceVersion":"-4")")).resource_version == 0);
  CHECK(Decode(PodText(R"(,"resourceVersion":"99999999999999999999")")).resource_version == 0);
}

TEST_CASE("node affinity with every operator", "[kube][pod]") {
  const Pod pod = Decode(PodText("", R"(,"affinity":{"podAffinity":{},"nodeAffinity":{
    "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}],
    "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
      {"matchExpressions":[
        {"key":"a","operator":"In","values":["1","2"]},{"key":"b","operator":"NotIn","values":["3"]},
        {"key":"c","operator":"Exists"},{"key":"d","operator":"DoesNotExist"},
        {"key":"e","operator":"Gt","values":["4"]},{"key":"f","operator":"Lt","values":["5"]}],
       "matchFields":[{"key":"metadata.name","operator":"In","values":["node-1"]}]},
      {}]}}})"));
  CHECK(pod.defect.empty());
  const cluster::NodeConstraints& constraints = pod.spec->constraints;
  REQUIRE(constraints.has_affinity);
  REQUIRE(constraints.affinity_terms.size() == 2);
  const cluster::NodeSelectorTerm& term = constraints.affinity_terms[0];
  REQUIRE(term.match_expressions.size() == 6);
  CHECK(term.match_expressions[0].op == SelectorOperator::kIn);
  CHECK(term.match_expressions[0].values == std::vector<std::string>{"1", "2"});
  CHECK(term.match_expressions[1].op == SelectorOperator::kNotIn);
  CHECK(term.match_expressions[2].op == SelectorOperator::kExists);
  CHECK(term.match_expressions[3].op == SelectorOperator::kDoesNotExist);
  CHECK(term.match_expressions[4].op == SelectorOperator::kGt);
  CHECK(term.match_expressions[5].op == SelectorOperator::kLt);
  REQUIRE(term.match_fields.size() == 1);
  CHECK(term.match_fields[0].key == "metadata.name");
  CHECK(constraints.affinity_terms[1] == cluster::NodeSelectorTerm{});
}

TEST_CASE("required affinity without terms is kept: it matches nothing", "[kube][pod]") {
  const Pod pod = Decode(PodText("", R"(,"affinity":{"nodeAffinity":{
    "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":null}}})"));
  CHECK(pod.spec->constraints.has_affinity);
  CHECK(pod.spec->constraints.affinity_terms.empty());
}

TEST_CASE("tolerations", "[kube][pod]") {
  const Pod pod = Decode(PodText("", R"(,"tolerations":[
    {"operator":"Exists"},
    {"key":"a","value":"b","effect":"NoSchedule"},
    {"key":"c","operator":"Equal","effect":"NoExecute","tolerationSeconds":300},
    {"key":"e","operator":"Exists","effect":"PreferNoSchedule"},
    {"key":"d","operator":"Gt","value":"5"},
    {"key":"d","operator":"Lt","value":"-7","effect":"NoSchedule"}])"));
  CHECK(pod.defect.empty());
  const std::vector<Toleration>& tolerations = pod.spec->constraints.tolerations;
  REQUIRE(tolerations.size() == 6);
  CHECK(tolerations[0] ==
        Toleration{"", Toleration::Op::kExists, "", true, TaintEffect::kNoSchedule});
  CHECK(tolerations[1] ==
        Toleration{"a", Toleration::Op::kEqual, "b", false, TaintEffect::kNoSchedule});
  CHECK(tolerations[2] ==
        Toleration{"c", Toleration::Op::kEqual, "", false, TaintEffect::kNoExecute});
  CHECK(tolerations[3] ==
        Toleration{"e", Toleration::Op::kExists, "", false, TaintEffect::kPreferNoSchedule});
  CHECK(tolerations[4] ==
        Toleration{"d", Toleration::Op::kGt, "5", true, TaintEffect::kNoSchedule});
  CHECK(tolerations[5] ==
        Toleration{"d", Toleration::Op::kLt, "-7", false, TaintEffect::kNoSchedule});
}

TEST_CASE("a pod's index is what its controller writes", "[kube][pod]") {
  struct Case {
    std::string labels;
    std::string annotations;
    int32_t index;
    int32_t job_index = Pod::kNoIndex;
  };
  const Case c = GENERATE(values<Case>({
      {"", "", Pod::kNoIndex},
      {R"("batch.kubernetes.io/job-completion-index":"3")", "", 3},
      {"", R"("batch.kubernetes.io/job-completion-index":"2147483647")", INT32_MAX},
      {R"("batch.kubernetes.io/job-completion-index":"1","jobset.sigs.k8s.io/job-global-index":"5")",
       "", 1, 5},
      {"", R"("jobset.sigs.k8s.io/job-global-index":"6")", Pod::kNoIndex, 6},
      // A leader is pod 7 of its StatefulSet and the first of its group.
      {R"("leaderworkerset.sigs.k8s.io/worker-index":"0","apps.kubernetes.io/pod-index":"7")", "",
       0},
      {R"("grove.io/podclique-pod-index":"4")", "", 4},
      {R"("training.kubeflow.org/replica-index":"5")", "", 5},
      {R"("kueue.x-k8s.io/pod-group-pod-index":"6")", "", 6},
      {R"("apps.kubernetes.io/pod-index":"7")", "", 7},
      {R"("apps.kubernetes.io/pod-index":"-7")", "", Pod::kNoIndex},
      {R"("apps.kubernetes.io/pod-index":"2147483648")", "", Pod::kNoIndex},
      {R"("apps.kubernetes.io/pod-index":"first")", "", Pod::kNoIndex},
      {R"("batch.kubernetes.io/job-completion-index":"","apps.kubernetes.io/pod-index":"8")", "",
       8},
  }));
  CAPTURE(c.labels, c.annotations);
  const Pod pod =
      Decode(PodText(R"(,"labels":{)" + c.labels + R"(},"annotations":{)" + c.annotations + "}"));
  CHECK(pod.index == c.index);
  CHECK(pod.job_index == c.job_index);
  CHECK(pod.defect.empty());
}

TEST_CASE("a pod that can be identified but not scheduled is kept with its defect", "[kube][pod]") {
  struct Case {
    std::string metadata;
    std::string spec;
    std::string want;
  };
  const Case c = GENERATE(values<Case>({
      {R"(,"labels":[])", "", "Pod.metadata.labels: expected an object, found a list"},
      {R"(,"labels":{"muster.dev/role":5})", "",
       R"(Pod.metadata.labels["muster.dev/role"]: expected a text)"},
      {"", R"(,"priority":"high")", "Pod.spec.priority: expected a whole number, found a text"},
      {"", R"(,"priority":2147483648)", "Pod.spec.priority: expected a whole number from"},
      {"", R"(,"nodeSelector":{"a":true})", "Pod.spec.nodeSelector.a: expected a text"},
      {"", R"(,"tolerations":[{"operator":"Maybe"}])",
       "Pod.spec.tolerations[0].operator: expected Equal"},
      {"", R"(,"tolerations":[{"effect":"NoFun"}])",
       "Pod.spec.tolerations[0].effect: expected NoSchedule"},
      {"", R"(,"schedulingGates":"x")", "Pod.spec.schedulingGates: expected a list, found a text"},
      {"", R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Near"}]}]}}})",
       "Pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
       "nodeSelectorTerms[0].matchExpressions[0].operator: expected In"},
  }));
  CAPTURE(c.want);
  const Pod pod = Decode(PodText(c.metadata, c.spec));
  CHECK_THAT(pod.defect, Catch::StartsWith(c.want));
  CHECK(pod.uid.text() == "u");
  CHECK(pod.spec != nullptr);
}

}  // namespace
}  // namespace muster::kube
