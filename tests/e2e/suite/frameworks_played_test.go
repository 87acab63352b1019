package suite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/yaml"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// Controllers that cannot run here, played: each makes of the sample what its project's code makes of it.

var (
	workflows         = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "workflows"}
	volcanoJobs       = schema.GroupVersionResource{Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"}
	podCliqueSets     = schema.GroupVersionResource{Group: "grove.io", Version: "v1alpha1", Resource: "podcliquesets"}
	podCliques        = schema.GroupVersionResource{Group: "grove.io", Version: "v1alpha1", Resource: "podcliques"}
	sparkApplications = schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"}
)

// definePlayedKinds has the API server store what they read, and the PodGroups that they make.
func (e *env) definePlayedKinds() {
	e.t.Helper()
	e.defineWorkflowKinds()
	e.defineForeignPodGroups()
	e.defineKinds("testdata/framework_kinds.yaml")
}

// defineKinds applies a file of CRDs.
func (e *env) defineKinds(file string) {
	e.t.Helper()
	text, err := os.ReadFile(file)
	e.must(err)
	_, err = e.Kubectl(e.ctx, string(text), "apply", "--server-side", "-f", "-")
	e.must(err)
	e.eventually(30*time.Second, "they are served", func() error {
		_, err := e.Kubectl(e.ctx, string(text), "wait", "--for=condition=Established", "--timeout=30s", "-f", "-")
		return err
	})
}

// sampled is an object of the sample, as the API server has it, and how what it controls names it.
func (p *play) sampled(resource schema.GroupVersionResource, kind, name string) (*unstructured.Unstructured, metav1.OwnerReference) {
	p.t.Helper()
	object, err := p.Dynamic.Resource(resource).Namespace(p.ns).Get(p.ctx, name, metav1.GetOptions{})
	p.must(err)
	return object, ownerOf(resource.GroupVersion().String(), kind, object)
}

// has makes an object that the owner controls, unless it is there, and returns how what that one controls names it.
func (p *play) has(resource schema.GroupVersionResource, kind, name string, owner metav1.OwnerReference, spec map[string]any) metav1.OwnerReference {
	p.t.Helper()
	client := p.Dynamic.Resource(resource).Namespace(p.ns)
	object, err := client.Get(p.ctx, name, metav1.GetOptions{})
	if err != nil {
		object = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": resource.GroupVersion().String(), "kind": kind,
			"metadata": map[string]any{"namespace": p.ns, "name": name}, "spec": spec,
		}}
		object.SetOwnerReferences([]metav1.OwnerReference{owner})
		object, err = client.Create(p.ctx, object, metav1.CreateOptions{})
		p.must(err)
	}
	return ownerOf(resource.GroupVersion().String(), kind, object)
}

// podBy is a pod by a template of the sample; what the template has must be what pods have.
func (p *play) podBy(template map[string]any, name string, options ...objects.PodOption) *corev1.Pod {
	p.t.Helper()
	var made corev1.PodTemplateSpec
	p.must(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(template, &made, true))
	pod := &corev1.Pod{ObjectMeta: made.ObjectMeta, Spec: made.Spec}
	pod.Namespace, pod.Name, pod.Annotations = p.ns, name, map[string]string{}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

// listOf is a list of the object, of maps.
func (p *play) listOf(object *unstructured.Unstructured, fields ...string) []map[string]any {
	p.t.Helper()
	items, found, err := unstructured.NestedSlice(object.Object, fields...)
	p.must(err)
	if !found {
		p.t.Fatalf("it has no %v: %v", fields, object.Object)
	}
	var out []map[string]any
	for _, item := range items {
		out = append(out, item.(map[string]any))
	}
	return out
}

func (p *play) textOf(object map[string]any, fields ...string) string {
	p.t.Helper()
	text, _, err := unstructured.NestedString(object, fields...)
	p.must(err)
	return text
}

func (p *play) numberOf(object map[string]any, fields ...string) int {
	p.t.Helper()
	number, found, err := unstructured.NestedInt64(object, fields...)
	p.must(err)
	if !found {
		p.t.Fatalf("it has no %v: %v", fields, object)
	}
	return int(number)
}

// argo has the step with a resource template make its object, which the Workflow controls (executeResource in
// workflow/controller/operator.go of github.com/argoproj/argo-workflows/v4 v4.0.7). What that object makes, Kubernetes makes.
func (p *play) argo() {
	p.t.Helper()
	workflow, owner := p.sampled(workflows, "Workflow", "train")
	for _, template := range p.listOf(workflow, "spec", "templates") {
		manifest := p.textOf(template, "resource", "manifest")
		if manifest == "" {
			continue
		}
		var object unstructured.Unstructured
		p.must(yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096).Decode(&object))
		object.SetNamespace(p.ns)
		object.SetOwnerReferences([]metav1.OwnerReference{owner})
		keepRunning(object.Object)
		text, err := object.MarshalJSON()
		p.must(err)
		_, err = p.Kubectl(p.ctx, string(text), p.textOf(template, "resource", "action"), "-f", "-")
		p.must(err)
	}
}

func (p *play) volcano() {
	p.t.Helper()
	p.volcanoMakes(0)
}

// volcanoMakes makes the PodGroup and the pods of one version of a Job (createOrUpdatePodGroup in
// pkg/controllers/job/job_controller_actions.go and createJobPod in job_controller_util.go of volcano.sh/volcano v1.15.1).
func (p *play) volcanoMakes(version int) {
	p.t.Helper()
	job, owner := p.sampled(volcanoJobs, "Job", "train")
	group := job.GetName() + "-" + string(job.GetUID())
	p.has(objects.Volcano.Resource, "PodGroup", group, owner, map[string]any{
		"minMember": int64(p.numberOf(job.Object, "spec", "minAvailable")), "queue": "default",
	})
	for _, task := range p.listOf(job, "spec", "tasks") {
		name := p.textOf(task, "name")
		template, _, err := unstructured.NestedMap(task, "template")
		p.must(err)
		for i := range p.numberOf(task, "replicas") {
			pod := p.podBy(template, fmt.Sprintf("%s-%s-%d", job.GetName(), name, i), owned(owner))
			for key, value := range map[string]string{
				"scheduling.k8s.io/group-name": group, "volcano.sh/job-name": job.GetName(), "volcano.sh/task-spec": name,
				"volcano.sh/task-index": fmt.Sprint(i), "volcano.sh/queue-name": "default",
				"volcano.sh/job-version": fmt.Sprint(version), "volcano.sh/job-retry-count": fmt.Sprint(version),
			} {
				pod.Annotations[key] = value
			}
			pod.Labels["volcano.sh/job-name"], pod.Labels["volcano.sh/task-spec"] = job.GetName(), name
			if pod.Spec.SchedulerName == "" {
				pod.Spec.SchedulerName = p.textOf(job.Object, "spec", "schedulerName")
			}
			p.addPods(pod)
		}
	}
}

// A pod fails, and by the policy RestartJob those of the next version come when all of this one are gone.
func (p *play) volcanoRestartsTheJob() {
	p.t.Helper()
	before, err := p.members()
	p.must(err)
	p.ends(before[len(before)-1], 1)
	for _, pod := range before {
		p.deletePod(pod)
	}
	p.eventually(30*time.Second, "they are gone", func() error {
		pods, err := p.list(objects.KubeletLabel + "=runs")
		if err == nil && len(pods) > 0 {
			err = errorf("%d are there", len(pods))
		}
		return err
	})
	p.volcanoMakes(1)
	p.changed(before, len(before))
}

// grove makes the PodCliques of the first replica, its PodGang, and those pods of the PodCliques that are not there
// (operator/internal/controller of ai-dynamo/grove fcc3b3bb). The gate that it holds pods back with until they are in the PodGang
// is left out.
func (p *play) grove() {
	p.t.Helper()
	set, owner := p.sampled(podCliqueSets, "PodCliqueSet", "serve")
	gang := set.GetName() + "-0"
	cliques := p.listOf(set, "spec", "template", "cliques")
	var groups []any
	for _, clique := range cliques {
		groups = append(groups, map[string]any{
			"name": gang + "-" + p.textOf(clique, "name"), "podReferences": []any{},
			"minReplicas": int64(p.numberOf(clique, "spec", "replicas")),
		})
	}
	p.has(objects.Grove.Resource, objects.Grove.Kind, gang, owner, map[string]any{"podgroups": groups})
	for _, clique := range cliques {
		name := gang + "-" + p.textOf(clique, "name")
		spec, _, err := unstructured.NestedMap(clique, "spec")
		p.must(err)
		by := p.has(podCliques, "PodClique", name, owner, spec)
		members, err := p.members()
		p.must(err)
		missing := p.numberOf(spec, "replicas")
		for _, pod := range members {
			if pod.Labels["grove.io/podclique"] == name {
				missing--
			}
		}
		for range missing {
			p.addPods(p.podBy(map[string]any{"spec": spec["podSpec"]}, name+"-"+rand.String(5), owned(by),
				objects.Labelled(objects.KubeletLabel, "runs"), objects.Labelled("grove.io/podgang", gang),
				objects.Labelled("grove.io/podclique", name), objects.Labelled("grove.io/podcliqueset-replica-index", "0")))
		}
	}
}

func (p *play) groveReplacesOne() {
	p.t.Helper()
	before, err := p.members()
	p.must(err)
	p.deletePod(before[len(before)-1])
	p.grove()
	p.changed(before, 1)
}

func (p *play) groveDeletesAll() {
	p.t.Helper()
	members, err := p.members()
	p.must(err)
	p.isDeleted()
	for _, pod := range members {
		err := p.Client.CoreV1().Pods(p.ns).Delete(p.ctx, pod.Name, metav1.DeleteOptions{})
		if err != nil && !strings.Contains(err.Error(), "not found") { // the garbage collector was first
			p.t.Fatal(err)
		}
	}
}

// defineSparkAsItsOperatorDoes applies the operator's own CRD where its module is here, as Kueue's build needs it, until the test
// ends; else the smallest one.
func (e *env) defineSparkAsItsOperatorDoes() {
	e.t.Helper()
	root, err := controlplane.Root()
	e.must(err)
	list := exec.Command("go", "list", "-mod=mod", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/spark-operator/v2")
	list.Dir = filepath.Join(root, "tests/e2e/kueue")
	folder, err := list.Output()
	file := filepath.Join(strings.TrimSpace(string(folder)), "config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml")
	if _, missing := os.Stat(file); err != nil || missing != nil {
		e.t.Logf("the operator's own CRD is not here: %v, %v", err, missing)
		e.defineWorkflowKinds()
		return
	}
	e.defineKinds(file)
	e.t.Cleanup(func() {
		if _, err := e.Kubectl(e.ctx, "", "delete", "-f", file); err != nil {
			e.t.Error(err)
		}
	})
}

// The pods of Spark start one by one, so its sample is no row of the table.
func TestTheSampleOfSparkIsTakenAndItsExecutorsJoinItsDriver(t *testing.T) {
	p := framework{
		name: "Spark", example: "spark.yaml", kinds: []string{"sparkapplications.sparkoperator.k8s.io"}, gpus: 8,
	}.begin(t)
	p.defineSparkAsItsOperatorDoes()
	p.apply()
	application, owner := p.sampled(sparkApplications, "SparkApplication", "etl")
	made := func(role string) objects.PodOption {
		return func(pod *corev1.Pod) {
			pod.Spec.SchedulerName = p.textOf(application.Object, "spec", role, "schedulerName")
			pod.Labels["spark-role"], pod.Labels["spark-app-selector"], pod.Labels["spark-app-name"] = role, "spark-1", "etl"
		}
	}
	p.addPods(objects.Pod(p.ns, "etl-driver", 0, made("driver"), owned(owner)))
	p.boundOf("spark-role=driver", 1)
	driver, err := p.Client.CoreV1().Pods(p.ns).Get(p.ctx, "etl-driver", metav1.GetOptions{})
	p.must(err)
	executors := p.numberOf(application.Object, "spec", "executor", "instances")
	gpus := p.numberOf(application.Object, "spec", "executor", "gpu", "quantity")
	for i := range executors {
		p.addPods(objects.Pod(p.ns, fmt.Sprintf("etl-exec-%d", i+1), gpus, made("executor"), owned(ownerOf("v1", "Pod", driver))))
	}
	p.boundOf("spark-role=executor", 8/gpus)
	p.eventually(30*time.Second, "they are one gang that needs its driver", func() error {
		got, err := p.live()
		if err == nil && (len(got) != 1 || !strings.HasPrefix(got[0].Name, "sparkapplication:etl~") || got[0].MinMember != 1 ||
			got[0].Pods != 1+executors || got[0].Bound != 1+8/gpus) {
			err = errorf("%s", show(got))
		}
		return err
	})
	p.shownAsIn(exampleOfSpark, 0)
}
