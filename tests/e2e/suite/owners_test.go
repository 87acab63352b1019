package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/objects"
)

// plainJob creates an Indexed Job of pods of four GPUs. Nothing of it names a gang.
func (e *env) plainJob(name string, pods int) {
	e.t.Helper()
	e.plainJobBy(objects.Muster, name, pods)
}

func (e *env) plainJobBy(scheduler, name string, pods int, spec ...string) {
	e.t.Helper()
	manifest := fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  completionMode: Indexed
  completions: %[3]d
  parallelism: %[3]d
  %[7]s
  template:
    metadata: {labels: {%[4]s: runs, %[6]s: %[1]s}}
    spec:
      schedulerName: %[5]s
      restartPolicy: Never
      containers:
      - name: worker
        image: train
        resources: {limits: {nvidia.com/gpu: 4}}
`, name, e.ns, pods, objects.KubeletLabel, scheduler, objects.GangLabel, strings.Join(spec, "\n  "))
	_, err := e.Kubectl(e.ctx, manifest, "apply", "-f", "-")
	e.must(err)
	e.t.Cleanup(func() { // before the namespace's pods go, which it would recreate
		background := metav1.DeletePropagationBackground
		err := e.Client.BatchV1().Jobs(e.ns).Delete(e.ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			e.t.Error(err)
		}
	})
}

// ownedGang makes such a Job, which the auditor takes for a gang too.
func (e *env) ownedGang(name string, pods int, spec ...string) objects.Gang {
	e.t.Helper()
	g := objects.Gang{Namespace: e.ns, Name: name, Members: pods, GPUs: 4}
	e.mu.Lock()
	e.gangs = append(e.gangs, g.Key())
	e.mu.Unlock()
	e.auditor.Expect(g.Key(), pods)
	e.plainJobBy(objects.Muster, name, pods, spec...)
	return g
}

func (e *env) podsOfJob(name string) ([]corev1.Pod, error) {
	return e.list("batch.kubernetes.io/job-name=" + name)
}

// jobHas waits until so many pods of the Job have nodes, and Muster takes so many for its minimum.
func (e *env) jobHas(name string, bound, minimum int) {
	e.t.Helper()
	what := fmt.Sprintf("%d pods of %s have nodes, and its minimum is %d", bound, name, minimum)
	e.eventually(30*time.Second, what, func() error {
		pods, err := e.podsOfJob(name)
		if err != nil {
			return err
		}
		gang, err := e.muster.Gang(e.ns, name)
		if n := countBound(pods); err == nil && (n != bound || gang.MinMember != minimum) {
			err = errorf("%d have, it is %d; %s: %s", n, gang.MinMember, gang.State, gang.Reason.Message)
		}
		return err
	})
}

func (e *env) resize(job string, pods int) {
	e.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"parallelism":%[1]d,"completions":%[1]d}}`, pods)
	_, err := e.Client.BatchV1().Jobs(e.ns).Patch(e.ctx, job, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	e.must(err)
}

func TestAnIndexedJobThatIsResizedIsFollowed(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	e.plainJob("train", 2)
	e.jobHas("train", 2, 2)
	e.resize("train", 3)
	e.jobHas("train", 2, 3)
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.jobHas("train", 3, 3)
	e.resize("train", 2)
	e.jobHas("train", 2, 2)
}

func TestAPlainIndexedJobIsAGangAndStartsWhole(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	e.plainJob("train", 4)
	e.eventually(30*time.Second, "the Job has its pods", func() error {
		pods, err := e.podsOfJob("train")
		if err == nil && len(pods) != 4 {
			err = errorf("it has %d", len(pods))
		}
		return err
	})
	e.always(5*time.Second, "no pod starts where only two of four have room", func() error {
		pods, err := e.podsOfJob("train")
		if n := countBound(pods); err == nil && n != 0 {
			err = errorf("%d have nodes", n)
		}
		return err
	})
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.eventually(30*time.Second, "all of them start once there is room", func() error {
		pods, err := e.podsOfJob("train")
		if n := countBound(pods); err == nil && n != 4 {
			err = errorf("%d have nodes", n)
		}
		return err
	})
}
