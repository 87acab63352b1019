package suite

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

// Pods that start one by one: of Kubernetes' own controllers, and as the controllers make them that cannot run here.

// defineWorkflowKinds has the API server store SparkApplications and Workflows.
func (e *env) defineWorkflowKinds() {
	e.t.Helper()
	e.defineKinds("testdata/workflow_kinds.yaml")
}

// makeOwner makes an object that is to own pods, and returns how they name it.
func (e *env) makeOwner(resource schema.GroupVersionResource, kind, name string, spec map[string]any) metav1.OwnerReference {
	e.t.Helper()
	made, err := e.Dynamic.Resource(resource).Namespace(e.ns).Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": kind,
		"metadata": map[string]any{"namespace": e.ns, "name": name}, "spec": spec,
	}}, metav1.CreateOptions{})
	e.must(err)
	return ownerOf(resource.GroupVersion().String(), kind, made)
}

func ownerOf(version, kind string, owner metav1.Object) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes}
}

func owned(by metav1.OwnerReference) objects.PodOption {
	return func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{by} }
}

// gangsHere are Muster's gangs in the test's namespace by their kinds: gangs, and pods by themselves.
func (e *env) gangsHere() (gangs, alone []muster.Gang, err error) {
	all, err := e.muster.Gangs()
	for _, gang := range all {
		switch {
		case gang.Namespace != e.ns:
		case gang.Kind == "Pod":
			alone = append(alone, gang)
		default:
			gangs = append(gangs, gang)
		}
	}
	return gangs, alone, err
}

func (e *env) boundOf(selector string, want int) {
	e.t.Helper()
	e.eventually(60*time.Second, fmt.Sprintf("%d pods of %s have nodes", want, selector), func() error {
		pods, err := e.list(selector)
		if n := countBound(pods); err == nil && n != want {
			err = errorf("%d of %d have", n, len(pods))
		}
		return err
	})
}

func TestASparkDriverStartsByItselfAndItsExecutorsAsTheyFit(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	e.defineWorkflowKinds()
	e.addGPUNodes(1)
	application := e.makeOwner(schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"},
		"SparkApplication", "pi", map[string]any{"executor": map[string]any{"instances": int64(3)}})
	labelled := func(role string) objects.PodOption {
		return func(pod *corev1.Pod) {
			pod.Labels["spark-role"], pod.Labels["spark-app-selector"], pod.Labels["spark-app-name"] = role, "spark-1", "pi"
		}
	}
	e.addPods(objects.Pod(e.ns, "pi-driver", 0, labelled("driver"), owned(application)))
	e.boundOf("spark-role=driver", 1)
	driver, err := e.Client.CoreV1().Pods(e.ns).Get(e.ctx, "pi-driver", metav1.GetOptions{})
	e.must(err)
	for i := range 3 {
		e.addPods(objects.Pod(e.ns, fmt.Sprintf("pi-exec-%d", i), 4, labelled("executor"), owned(ownerOf("v1", "Pod", driver))))
	}
	e.boundOf("spark-role=executor", 2)
	e.eventually(30*time.Second, "the application is one gang of four pods that needs one", func() error {
		gangs, alone, err := e.gangsHere()
		if err == nil && (len(gangs) != 1 || len(alone) != 0 || gangs[0].MinMember != 1 || gangs[0].Pods != 4 || gangs[0].Bound != 3) {
			err = errorf("%s and alone %s", show(gangs), show(alone))
		}
		return err
	})
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.boundOf("spark-role=executor", 3)
}

func TestTheStepsOfAWorkflowStartOneByOne(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	e.defineWorkflowKinds()
	e.addGPUNodes(1)
	workflow := e.makeOwner(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "workflows"},
		"Workflow", "steps", map[string]any{"entrypoint": "main"})
	for i := range 3 {
		e.addPods(objects.Pod(e.ns, fmt.Sprintf("steps-%d", i), 4, objects.Labelled("workflows.argoproj.io/workflow", "steps"), owned(workflow)))
	}
	e.boundOf("workflows.argoproj.io/workflow=steps", 2)
	e.allAlone(3)
}

func (e *env) allAlone(pods int) {
	e.t.Helper()
	e.eventually(30*time.Second, "each pod is by itself", func() error {
		gangs, alone, err := e.gangsHere()
		if err == nil && (len(gangs) != 0 || len(alone) != pods) {
			err = errorf("gangs %s and alone %s", show(gangs), show(alone))
		}
		return err
	})
}

func TestPodsThatServeStartOneByOne(t *testing.T) {
	slow(t)
	if tested() == controlplane.Older {
		t.Skip("this Kubernetes has no MutatingAdmissionPolicy, which gates pods of templates")
	}
	for _, kind := range []string{"StatefulSet", "Deployment"} {
		t.Run(kind, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{}))
			e.addGPUNodes(1)
			service := ""
			if kind == "StatefulSet" {
				service = "serviceName: web"
			}
			_, err := e.Kubectl(e.ctx, fmt.Sprintf(`apiVersion: apps/v1
kind: %s
metadata: {name: web, namespace: %s}
spec:
  replicas: 3
  %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: muster
      containers:
      - name: web
        image: web
        resources: {limits: {nvidia.com/gpu: 4}}
`, kind, e.ns, service), "apply", "-f", "-")
			e.must(err)
			t.Cleanup(func() {
				if _, err := e.Kubectl(e.ctx, "", "-n", e.ns, "delete", kind, "web", "--wait=false"); err != nil {
					t.Error(err)
				}
			})
			e.boundOf("app=web", 2)
			e.allAlone(3)
		})
	}
}
