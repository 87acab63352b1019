package suite

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

// The namespace of the walks' team.
const walkers = "team-a"

func TestTheWalkOfAnAdministratorOnACloudProvidersCluster(t *testing.T) {
	onVersion(t, controlplane.Older, "the overlay before-1.36")
	k := walks(t)
	k.parts["the pool has two GPU nodes"] = k.twoNodes
	k.do("cloud-1.34.md")
}

func TestTheWalkOfATeam(t *testing.T) {
	k := installed(t)
	k.defineRay()
	holder := k.gang("holder", 1, 8)
	k.parts["the pool has two GPU nodes"] = k.twoNodes
	k.parts["another gang has one of the nodes"] = func() {
		k.add(holder)
		k.whole(60*time.Second, holder)
	}
	k.parts["KubeRay makes what the RayJob asks for"] = k.makeRayCluster
	k.parts["the other gang ends"] = func() { k.end(holder) }
	k.parts["KubeRay submits the job"] = k.submitRayJob
	k.do("team.md")
}

func TestTheWalkOfSomebodyOnCall(t *testing.T) {
	k := installed(t) // pods say why they wait after five minutes
	k.parts["a gang is stuck"] = func() {
		k.must(k.EnsureNamespace(k.ctx, walkers))
		cordoned := objects.Node("gpu-b", 8)
		cordoned.Spec.Unschedulable = true
		k.addNodes(objects.Node("gpu-a", 8), cordoned)
		k.submitJob("train")
	}
	k.parts["nobody runs Muster, and a gang comes"] = func() {
		_, err := k.Kubectl(k.ctx, "", "-n", walkers, "delete", "job", "train")
		k.must(err)
		_, err = k.Kubectl(k.ctx, "", "-n", muster.Namespace, "scale", "deployment", "muster", "--replicas=0")
		k.must(err)
		k.eventually(60*time.Second, "no pod of Muster is left", func() error {
			pods, err := k.Client.CoreV1().Pods(muster.Namespace).List(k.ctx,
				metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=extender"})
			if err == nil && len(pods.Items) > 0 {
				err = errorf("%d are", len(pods.Items))
			}
			return err
		})
		k.eventually(60*time.Second, "nobody holds the Lease", func() error {
			lease, err := k.Client.CoordinationV1().Leases(muster.Namespace).Get(k.ctx, "muster", metav1.GetOptions{})
			if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
				err = errorf("%s does", *lease.Spec.HolderIdentity)
			}
			return err
		})
		k.submitJob("late")
		k.eventually(60*time.Second, "the pods of Job late", func() error {
			pods, err := k.Client.CoreV1().Pods(walkers).List(k.ctx, metav1.ListOptions{LabelSelector: "job-name=late"})
			if err == nil && len(pods.Items) < 4 {
				err = errorf("%d are there", len(pods.Items))
			}
			return err
		})
	}
	k.do("on-call.md")
}

// installed is a walk on a cluster that has Muster, as docs/how-to/install.md installs it.
func installed(t *testing.T) *walk {
	t.Helper()
	slow(t)
	if tested() == controlplane.Older {
		t.Skip("its pods get their gate by the admission policy")
	}
	k := walks(t)
	said, err := k.shell(`kubectl -n muster-system get deployment muster || manifests/certificates/make-secrets.sh | kubectl apply -f -
kubectl apply -k manifests/overlays/default
kubectl -n muster-system rollout status deployment muster --timeout=2m
kubectl -n muster-system rollout status deployment muster-scheduler --timeout=2m`)
	if err != nil {
		t.Fatalf("Muster is not installed: %v\n%s\nits pods: %s", err, said, k.images.trouble())
	}
	return k
}

func (k *walk) twoNodes() {
	k.t.Helper()
	k.addNodes(objects.Node("gpu-a", 8), objects.Node("gpu-b", 8))
}

// submitJob adds a gang of the walks' team with a PodGroup: four pods of four GPUs, which run until the test ends them.
func (k *walk) submitJob(name string) {
	k.t.Helper()
	_, err := k.Kubectl(k.ctx, fmt.Sprintf(`apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: %[1]s, namespace: %[2]s}
spec: {minMember: 4}
---
apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  completionMode: Indexed
  completions: 4
  parallelism: 4
  template:
    metadata: {labels: {scheduling.x-k8s.io/pod-group: %[1]s, %[3]s: runs}}
    spec:
      schedulerName: muster
      restartPolicy: Never
      containers:
      - name: worker
        image: train
        resources: {limits: {nvidia.com/gpu: 4}}
`, name, walkers, objects.KubeletLabel), "apply", "-f", "-")
	k.must(err)
}

func (k *walk) defineRay() {
	k.t.Helper()
	text, err := os.ReadFile("testdata/ray_kinds.yaml")
	k.must(err)
	_, err = k.Kubectl(k.ctx, string(text), "apply", "-f", "-")
	k.must(err)
	_, err = k.Kubectl(k.ctx, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/rayjobs.ray.io", "crd/rayclusters.ray.io")
	k.must(err)
}

var (
	rayJobs     = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayjobs"}
	rayClusters = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}
)

// makeRayCluster does what KubeRay's controller does with the RayJob of the walk: a RayCluster, its head and its workers.
func (k *walk) makeRayCluster() {
	k.t.Helper()
	job, err := k.Dynamic.Resource(rayJobs).Namespace(walkers).Get(k.ctx, "tune", metav1.GetOptions{})
	k.must(err)
	spec, _, err := unstructured.NestedMap(job.Object, "spec", "rayClusterSpec")
	k.must(err)
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": map[string]any{"name": "tune-x7k2p", "namespace": walkers}, "spec": spec,
	}}
	cluster.SetOwnerReferences([]metav1.OwnerReference{ownerOf("ray.io/v1", "RayJob", job)})
	cluster, err = k.Dynamic.Resource(rayClusters).Namespace(walkers).Create(k.ctx, cluster, metav1.CreateOptions{})
	k.must(err)
	head, _, err := unstructured.NestedMap(spec, "headGroupSpec")
	k.must(err)
	k.rayPod(cluster, head, "head", "headgroup", cluster.GetName()+"-head")
	groups, _, err := unstructured.NestedSlice(spec, "workerGroupSpecs")
	k.must(err)
	for _, group := range groups {
		group := group.(map[string]any)
		for i := range group["replicas"].(int64) {
			k.rayPod(cluster, group, "worker", group["groupName"].(string), fmt.Sprintf("%s-worker-%d", cluster.GetName(), i))
		}
	}
}

func (k *walk) rayPod(cluster *unstructured.Unstructured, group map[string]any, nodeType, groupName, name string) {
	k.t.Helper()
	template, _, err := unstructured.NestedMap(group, "template", "spec")
	k.must(err)
	var spec corev1.PodSpec
	k.must(runtime.DefaultUnstructuredConverter.FromUnstructured(template, &spec))
	_, err = k.Client.CoreV1().Pods(walkers).Create(k.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: walkers,
			Labels: map[string]string{
				"ray.io/cluster": cluster.GetName(), "ray.io/is-ray-node": "yes", "ray.io/node-type": nodeType, "ray.io/group": groupName,
			},
			OwnerReferences: []metav1.OwnerReference{ownerOf("ray.io/v1", "RayCluster", cluster)},
		},
		Spec: spec,
	}, metav1.CreateOptions{})
	k.must(err)
}

// submitRayJob makes the submitter, which comes when the RayCluster is ready: a Job of the RayJob.
func (k *walk) submitRayJob() {
	k.t.Helper()
	job, err := k.Dynamic.Resource(rayJobs).Namespace(walkers).Get(k.ctx, "tune", metav1.GetOptions{})
	k.must(err)
	_, err = k.Kubectl(k.ctx, fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: tune
  namespace: %s
  ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob, name: tune, uid: %s, controller: true}]
spec:
  template:
    metadata: {labels: {%s: runs}}
    spec:
      restartPolicy: Never
      containers:
      - {name: ray-job-submitter, image: "rayproject/ray:2.46.0"}
`, walkers, job.GetUID(), objects.KubeletLabel), "apply", "-f", "-")
	k.must(err)
}

// leave takes away what a walk has left in its team's namespace.
func (k *walk) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	if _, err := k.Kubectl(ctx, "", "delete", "namespace", walkers, "--ignore-not-found"); err != nil {
		k.t.Error(err)
	}
}
