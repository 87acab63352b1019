#include "config/documents/kubernetes_fields.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "config/documents/manifest.hpp"
#include "config/shipped_files.hpp"
#include "config/yaml/yaml_parser.hpp"

namespace muster::config {
namespace {

std::string WrongResource(std::string_view name) {
  return name == "gpus" ? "no such resource" : "";
}

std::string KubernetesFieldsFaultsOf(const std::string& text) {
  const auto documents = ParseManifests(text, "m.yaml");
  REQUIRE(documents.ok());
  std::string lines;
  for (const cluster::Error& fault :
       KubernetesFields(WrongResource).FaultsOf(documents->at(0).source()))
    lines += (lines.empty() ? "" : "\n") + fault.ToString();
  return lines;
}

const std::string kPod = "apiVersion: v1\nkind: Pod\n";

struct KubernetesFieldsCase {
  std::string name;
  std::string text;
  std::string want;
};

TEST_CASE("what an API server would refuse or drop of an object is reported by its path",
          "[config][manifest]") {
  const KubernetesFieldsCase c = GENERATE(values<KubernetesFieldsCase>({
      {"a field that nobody knows", kPod + "spec: {containers: [{imagePulPolicy: Always}]}",
       "spec.containers[0].imagePulPolicy: unknown field, did you mean imagePullPolicy?"},
      {"one that is like none", kPod + "spec: {colour: red}",
       "spec.colour: unknown field, leave it out"},
      {"few fields are listed", kPod + "spec: {containers: [{ports: [{x: 1}]}]}",
       "spec.containers[0].ports[0].x: unknown field, expected name, hostPort, containerPort, "
       "protocol or hostIP"},
      {"at the top", kPod + "sepc: {}", "sepc: unknown field, did you mean spec?"},
      {"a number where text is due", kPod + "metadata: {labels: {job: 7, a: b}}",
       "metadata.labels[\"job\"]: expected text, found 7, which YAML takes for a number or a truth "
       "value: put it in quotes"},
      {"a truth value where text is due",
       kPod + "spec: {containers: [{env: [{name: A, value: yes}, {name: B, value: \"yes\"}]}]}",
       "spec.containers[0].env[0].value: expected text, found yes, which YAML takes for a number "
       "or a truth value: put it in quotes"},
      {"text where a number is due", kPod + "spec: {priority: \"7\"}",
       "spec.priority: expected a whole number, found the text \"7\": leave the quotes out"},
      {"text where a truth value is due", kPod + "spec: {hostNetwork: maybe}",
       "spec.hostNetwork: expected true or false, found \"maybe\""},
      {"a map where a list is due", kPod + "spec: {containers: {name: a}}",
       "spec.containers: expected a list (\"- item\" lines), found a map"},
      {"a list where a map is due", kPod + "metadata: {annotations: [a]}",
       "metadata.annotations: expected a section (\"key: value\" lines), found a list"},
      {"a resource", kPod + "spec: {containers: [{resources: {limits: {gpus: 1, cpu: 1.5}}}]}",
       "spec.containers[0].resources.limits[\"gpus\"]: no such resource"},
      {"an amount of a resource", kPod + "spec: {overhead: {cpu: true}}",
       "spec.overhead[\"cpu\"]: expected text or a number, found \"true\""},
      {"a field without a value counts as not there", kPod + "metadata:\nspec: {nodeName: ~}", ""},
      {"all faults of a Job, in order",
       "apiVersion: batch/v1\nkind: Job\nspec: {paralellism: 2, template: {spec: {contaners: []}}}",
       "spec.paralellism: unknown field, did you mean parallelism?\n"
       "spec.template.spec.contaners: unknown field, did you mean containers?"},
      {"another project's PodGroup",
       "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nspec: {minMembers: 2}",
       "spec.minMembers: unknown field, did you mean minMember?"},
      {"a PodGroup of Kubernetes itself",
       "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n"
       "spec: {schedulingPolicy: {gang: {minCont: 2}}}",
       "spec.schedulingPolicy.gang.minCont: unknown field, did you mean minCount?"},
      {"the pod templates of a kind that is not known",
       "apiVersion: x.io/v1\nkind: Training\nmetadata: {labels: {a: 1}}\nspec:\n"
       "  anything: {goes: 1}\n  replicaSpecs:\n    Worker:\n      template:\n"
       "        spec: {containers: [{name: a, comand: [b]}]}\n",
       "metadata.labels[\"a\"]: expected text, found 1, which YAML takes for a number or a truth "
       "value: put it in quotes\n"
       "spec.replicaSpecs.Worker.template.spec.containers[0].comand: unknown field, did you mean "
       "command?"},
      {"the Jobs of a CronJob",
       "apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: {paralelism: 2}}}",
       "spec.jobTemplate.spec.paralelism: unknown field, did you mean parallelism?"},
      {"what a framework's object has of its own and of Kubernetes",
       "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec:\n  failurePolcy: {}\n"
       "  replicatedJobs: [{name: w, replicas: \"2\", template: {spec: {completionMod: a}}}]\n",
       "spec.failurePolcy: unknown field, did you mean failurePolicy?\n"
       "spec.replicatedJobs[0].replicas: expected a whole number, found the text \"2\": leave the "
       "quotes out\n"
       "spec.replicatedJobs[0].template.spec.completionMod: unknown field, did you mean "
       "completionMode?"},
      {"an object within another one",
       "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nspec:\n  components:\n"
       "  - template: {apiVersion: batch/v1, kind: Job, spec: {paralelism: 2}}\n",
       "spec.components[0].template.spec.paralelism: unknown field, did you mean parallelism?"},
      {"a task of Volcano's Job",
       "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec:\n  minAvailabel: 1\n  tasks:\n"
       "  - {name: w, template: {spec: {containers: [{name: a, comand: [b]}]}}}\n",
       "spec.minAvailabel: unknown field, did you mean minAvailable?\n"
       "spec.tasks[0].template.spec.containers[0].comand: unknown field, did you mean command?"},
      {"an executor of Spark",
       "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\n"
       "spec: {executor: {instances: 3, gpu: {name: nvidia.com/gpu, quantiy: 4}}}",
       "spec.executor.gpu.quantiy: unknown field, did you mean quantity?"},
      {"a template of Argo's Workflow, and its steps, a list of lists",
       "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n  templates:\n"
       "  - {name: a, container: {imag: i}}\n  - {name: b, steps: [[{name: s, templat: a}]]}\n",
       "spec.templates[0].container.imag: unknown field, did you mean image?\n"
       "spec.templates[1].steps[0][0].templat: unknown field, did you mean template?"},
      {"the Workflow of a CronWorkflow; a schedule of 3.7 and schedules of 4.0",
       "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\n"
       "spec: {schedule: \"* * * * *\", schedules: [\"* * * * *\"], workflowSpec: {entrypont: a}}",
       "spec.workflowSpec.entrypont: unknown field, did you mean entrypoint?"},
  }));
  CAPTURE(c.name);
  CHECK(KubernetesFieldsFaultsOf(c.text) == c.want);
}

TEST_CASE("a workflow with all that a template can be has no fault", "[config][manifest]") {
  const std::string workflow = R"(
  entrypoint: main
  arguments:
    parameters: [{name: text, value: a}, {name: number, value: 3}, {name: truth, value: true}]
  synchronization: {mutex: {name: m}, semaphores: [{configMapKeyRef: {name: c, key: k}}]}
  podDisruptionBudget: {minAvailable: 1}
  templates:
  - name: main
    inputs:
      parameters: [{name: count, default: 1, enum: [1, two, false]}]
      artifacts: [{name: a, path: /a}]
    retryStrategy: {limit: 2, backoff: {duration: "10", factor: "2"}}
    steps:
    - - {name: a, template: pod, withItems: [1, b, {c: d}, [e]]}
      - name: b
        inline: {script: {image: i, command: [sh], source: echo}}
        withSequence: {count: "3"}
    - - {name: c, template: dag, arguments: {artifacts: [{name: a, raw: {data: x}}]}}
  - name: dag
    dag:
      tasks:
      - {name: a, template: pod}
      - {name: b, depends: a, templateRef: {name: t, template: u}}
  - name: set
    activeDeadlineSeconds: "{{inputs.parameters.count}}"
    containerSet: {containers: [{name: a, image: i}, {name: b, image: i, dependencies: [a]}]}
  - name: pod
    metrics: {prometheus: [{name: m, help: h, histogram: {value: "1", buckets: [1, 2.5]}}]}
    memoize: {key: k, cache: {configMap: {name: c}}}
    container: {image: i, resources: {limits: {nvidia.com/gpu: 1}}}
    initContainers: [{name: i, image: i, mirrorVolumeMounts: true}]
    sidecars: [{name: s, image: i, ports: [{containerPort: 80}]}]
  - {name: plugin, plugin: {hello: {anything: [1, a]}}}
)";
  std::string indented;
  for (const char letter : workflow) indented += letter == '\n' ? "\n  " : std::string(1, letter);
  CHECK(KubernetesFieldsFaultsOf("apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:" +
                                 workflow) == "");
  CHECK(KubernetesFieldsFaultsOf("apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nspec:\n"
                                 "  schedules: [\"0 2 * * *\"]\n  workflowSpec:" +
                                 indented) == "");
}

TEST_CASE("Volcano's objects with all that they can be have no fault", "[config][manifest]") {
  CHECK(KubernetesFieldsFaultsOf(R"(apiVersion: batch.volcano.sh/v1alpha1
kind: Job
spec:
  schedulerName: muster
  minAvailable: 2
  plugins: {ssh: [], svc: ["--disable-network-policy=true"]}
  policies:
  - {events: [PodFailed], action: RestartJob, timeout: 1h}
  - {exitCode: 3, action: AbortJob}
  networkTopology: {mode: hard, highestTierAllowed: 2}
  tasks:
  - name: w
    replicas: 2
    dependsOn: {name: [m]}
    template: {spec: {containers: [{name: a, image: i}]}}
)") == "");
  CHECK(KubernetesFieldsFaultsOf("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nspec: "
                                 "{weight: 1, capability: {nvidia.com/gpu: 8}, parent: root}\n") ==
        "");
  CHECK(KubernetesFieldsFaultsOf(
            "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nspec: "
            "{subGroupPolicy: [{name: a, subGroupSize: 2, minSubGroups: 1}]}") == "");
}

// A word that is no type would be taken for an amount, and refuse what is right.
TEST_CASE("every word in config/kubernetes is a type or one of the words of its README",
          "[config][manifest]") {
  std::vector<std::string> types = {"text", "whole", "boolean", "scalar", "resources", "any"};
  std::vector<std::string> used;
  for (const ShippedFile& file : ShippedKubernetes()) {
    const auto read = ParseYaml(file.text, std::string(file.name), YamlRules{});
    REQUIRE(read.ok());
    for (const YamlEntry& kind : read->at(0).Find("kinds")->entries)
      used.push_back(kind.value.text);
    for (const YamlEntry& type : read->at(0).Find("types")->entries) {
      types.push_back(type.key);
      for (const YamlEntry& field : type.value.entries) {
        const YamlNode* value = &field.value;
        while (!value->scalar())
          value = value->items.empty() ? value->Find("*") : &value->items.front();
        used.push_back(value->text);
      }
    }
  }
  CHECK(used.size() > 500);
  for (const std::string& word : used) {
    CAPTURE(word);
    CHECK(std::count(types.begin(), types.end(), word) == 1);
  }
}

}  // namespace
}  // namespace muster::config
