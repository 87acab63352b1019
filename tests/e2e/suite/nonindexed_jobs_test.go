package suite

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// The gang test of CNCF's Kubernetes AI conformance: two Jobs that are not Indexed, with parallelism = completions, whose pods ask for CPUs
// alone, and of which each needs more than half of the cluster. Both may not get a part; one runs, and then the other.

// cpuGang makes such a Job of pods of one CPU; `annotations` is a flow map of YAML.
func (e *env) cpuGang(name string, pods int, cpu, annotations string) objects.Gang {
	e.t.Helper()
	g := objects.Gang{Namespace: e.ns, Name: name, Members: pods}
	e.mu.Lock()
	e.gangs = append(e.gangs, g.Key())
	e.mu.Unlock()
	e.auditor.Expect(g.Key(), pods)
	manifest := fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s, namespace: %[2]s, annotations: %[3]s}
spec:
  completions: %[4]d
  parallelism: %[4]d
  template:
    metadata: {labels: {%[5]s: runs, %[6]s: %[1]s}}
    spec:
      schedulerName: %[7]s
      restartPolicy: Never
      nodeSelector: {cpus-of: %[2]s}
      containers:
      - {name: worker, image: train, resources: {requests: {cpu: %[8]q, memory: 64Mi}}}
`, name, e.ns, annotations, pods, objects.KubeletLabel, objects.GangLabel, objects.Muster, cpu)
	_, err := e.Kubectl(e.ctx, manifest, "apply", "-f", "-")
	e.must(err)
	e.t.Cleanup(func() { // before the namespace's pods go, which it would recreate
		background := metav1.DeletePropagationBackground
		if err := e.Client.BatchV1().Jobs(e.ns).Delete(e.ctx, name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			e.t.Error(err)
		}
	})
	return g
}

func (e *env) addCPUNodes(count int) {
	e.t.Helper()
	nodes := objects.Nodes(e.ns, count, 0)
	for _, node := range nodes {
		node.Labels["cpus-of"] = e.ns
	}
	e.addNodes(nodes...)
}

// oneThenTheOther: one of them runs whole while the other has nothing, and when it has ended the other runs whole.
func (e *env) oneThenTheOther(within time.Duration, a, b objects.Gang) {
	e.t.Helper()
	exactlyOne := func() error {
		switch has, other := e.bound(a), e.bound(b); {
		case has == a.Members && other == 0, has == 0 && other == b.Members:
			return nil
		default:
			return errorf("%d of %s and %d of %s have nodes; %s; %s", has, a.Name, other, b.Name, e.why(a), e.why(b))
		}
	}
	e.eventually(within, "one of the two runs whole", exactlyOne)
	e.always(3*time.Second, "the other has nothing", exactlyOne)
	if e.bound(a) == 0 {
		a, b = b, a
	}
	e.eventually(within, b.Name+" runs whole when "+a.Name+" has ended", func() error {
		if err := e.letJobPodsEnd(a); err != nil {
			return err
		}
		if n := e.bound(b); n != b.Members {
			return errorf("%d of %d have nodes; %s", n, b.Members, e.why(b))
		}
		return nil
	})
}

func TestTwoJobsThatAreNotIndexedRunOneAfterTheOtherWhereThePolicyMakesThemGangs(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("nonIndexedJobs:\n  - " + e.ns)
	e.addCPUNodes(2)
	e.oneThenTheOther(30*time.Second, e.cpuGang("a", 10, "16", "{}"), e.cpuGang("b", 10, "16", "{}"))
}

func TestTwoJobsThatAreNotIndexedRunOneAfterTheOtherByMinMember(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addCPUNodes(2)
	const asks = `{muster.dev/min-member: "10"}`
	e.oneThenTheOther(30*time.Second, e.cpuGang("a", 10, "16", asks), e.cpuGang("b", 10, "16", asks))
}

func TestTwoJobsOfFourHundredPodsThatAreNotIndexedRunOneAfterTheOther(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("nonIndexedJobs:\n  - " + e.ns)
	e.addCPUNodes(6) // of 128 CPUs
	e.oneThenTheOther(180*time.Second, e.cpuGang("a", 400, "1", "{}"), e.cpuGang("b", 400, "1", "{}"))
}
