package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// Kueue's own controller says when a gang's quota is there, and Muster where it runs.

const kueueQueue, kueueHigh = "kueue.x-k8s.io/queue-name", "e2e-kueue-high"

// kueueRuns is a test's part of a control plane with Kueue.
func kueueRuns(t *testing.T) *env {
	t.Helper()
	if !controlplane.HasKueue() {
		t.Skip("Kueue's controller is not built; tests/e2e/build.sh kueue tells why it cannot be")
	}
	w := mustered(t, worldOptions{kueue: true})
	w.kueueOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		_, w.kueueErr = w.StartKueue(ctx)
	})
	if w.kueueErr != nil {
		t.Fatalf("Kueue does not run: %v", w.kueueErr)
	}
	return in(t, w)
}

// withKueue is such a part with a LocalQueue `team` whose ClusterQueue has so many GPUs.
func withKueue(t *testing.T, gpus int) *env {
	t.Helper()
	e := kueueRuns(t)
	text := fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: %[3]s}
value: 2000
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: any
      resources:
      - {name: cpu, nominalQuota: 1k}
      - {name: memory, nominalQuota: 1Ti}
      - {name: nvidia.com/gpu, nominalQuota: %[2]d}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: %[1]s}
spec: {clusterQueue: %[1]s}
`, e.ns, gpus, kueueHigh)
	e.eventually(30*time.Second, "Kueue takes its objects", func() error {
		_, err := e.Kubectl(e.ctx, text, "apply", "-f", "-")
		return err
	})
	t.Cleanup(func() { // before the pods go
		for _, kind := range []string{"jobs.batch", "workloads.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"} {
			if _, err := e.Kubectl(e.ctx, "", "-n", e.ns, "delete", kind, "--all", "--wait=false"); err != nil {
				t.Errorf("%v", err)
			}
		}
		if _, err := e.Kubectl(e.ctx, "", "delete", "clusterqueue", e.ns, "--wait=false"); err != nil {
			t.Errorf("%v", err)
		}
	})
	return e
}

// kueueGang is four members of two GPUs each, as a Job or as plain pods.
type kueueGang struct {
	objects.Gang
	job bool
}

func (e *env) submit(name string, job bool, options ...objects.PodOption) kueueGang {
	e.t.Helper()
	g := kueueGang{Gang: e.gang(name, 4, 2, options...), job: job}
	if !job {
		g.Flavour = objects.Kueue
		g.Options = append(g.Options, objects.Labelled(kueueQueue, "team"))
		e.add(g.Gang)
		return g
	}
	e.addGroup(g.Gang)
	pod := g.Pod(0)
	if pod.Labels[objects.KubeletLabel] == "" {
		pod.Labels[objects.KubeletLabel] = "runs"
	}
	labels := ""
	for key, value := range pod.Labels {
		labels += fmt.Sprintf("        %s: %q\n", key, value)
	}
	class := ""
	if value := pod.Labels["kueue.x-k8s.io/priority-class"]; value != "" {
		class = ", kueue.x-k8s.io/priority-class: " + value
	}
	gates := ""
	if tested() == controlplane.Older { // where no admission policy adds the gate
		gates = "{name: muster.dev/gang}"
	}
	_, err := e.Kubectl(e.ctx, fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: %s, labels: {kueue.x-k8s.io/queue-name: team%s}}
spec:
  completionMode: Indexed
  completions: 4
  parallelism: 4
  template:
    metadata:
      labels:
%s    spec:
      schedulerName: muster
      schedulingGates: [%s]
      priorityClassName: %q
      restartPolicy: Never
      terminationGracePeriodSeconds: %d
      containers:
      - name: main
        image: image
        resources: {requests: {cpu: 1, memory: 1Gi}, limits: {nvidia.com/gpu: 2}}
`, name, e.ns, class, labels, gates, pod.Spec.PriorityClassName, *pod.Spec.TerminationGracePeriodSeconds), "apply", "-f", "-")
	e.must(err)
	return g
}

func kueuePriority() objects.PodOption {
	return objects.Labelled("kueue.x-k8s.io/priority-class", kueueHigh)
}

// replaced makes pods in place of those that Kueue deleted, as the Job controller does by itself.
func (e *env) replaced(g kueueGang) {
	e.t.Helper()
	if g.job {
		return
	}
	for _, pod := range g.Pods() {
		pod.Name += "-again"
		e.addPods(pod)
	}
}

// kueueSays is what Kueue says of the test's workloads, for messages.
func (e *env) kueueSays() string {
	text, err := e.Kubectl(e.ctx, "", "-n", e.ns, "get", "workloads.kueue.x-k8s.io")
	if err != nil {
		return err.Error()
	}
	return "\n" + strings.TrimSpace(text)
}

func (e *env) wholeWithKueue(g kueueGang) {
	e.t.Helper()
	e.eventually(60*time.Second, g.Name+" is whole", func() error {
		pods, err := e.stay(g.Gang)
		if bound := countBound(pods); err == nil && (len(pods) != g.Members || bound != g.Members) {
			err = errorf("%d pods are there, %d of them bound; %s%s", len(pods), bound, e.why(g.Gang), e.kueueSays())
		}
		return err
	})
}

func (e *env) noneBound(lasting time.Duration, g kueueGang) {
	e.t.Helper()
	e.always(lasting, g.Name+" holds no node", func() error {
		pods, err := e.stay(g.Gang)
		if n := countBound(pods); err == nil && n > 0 {
			err = errorf("%d pods have one; %s%s", n, e.why(g.Gang), e.kueueSays())
		}
		return err
	})
}

var forms = []struct {
	name string
	job  bool
}{{"a Job", true}, {"plain pods", false}}

func TestAGangStartsOnceKueueAndMusterAgree(t *testing.T) {
	for _, form := range forms {
		for _, lacks := range []struct {
			name         string
			quota, nodes int
		}{{"quota", 8, 2}, {"room", 16, 1}} {
			t.Run(form.name+" that lacks "+lacks.name, func(t *testing.T) {
				e := withKueue(t, lacks.quota)
				e.addGPUNodes(lacks.nodes)
				first := e.submit("first", form.job)
				e.wholeWithKueue(first)
				second := e.submit("second", form.job)
				if lacks.name == "room" {
					e.waitsFor(second.Gang, "NotEnoughGpus")
				}
				e.noneBound(2*time.Second, second)
				e.end(first.Gang)
				e.wholeWithKueue(second)
			})
		}
	}
}

// holdsNothing fails unless Muster has forgotten the gang, or has none of its members anywhere, and the GPUs in use are those
// of the others. The older API server leaves a nomination as it was at the binding, where nobody asks for it any more.
func (e *env) holdsNothing(g kueueGang, used int) error {
	if gang, err := e.muster.Gang(e.ns, g.Name); err == nil && (gang.Bound > 0 || gang.State == "Running") {
		return errorf("%s: %d are bound; %s", gang.State, gang.Bound, e.why(g.Gang))
	}
	pods, err := e.pods(g.Gang)
	for _, pod := range pods {
		leftOver := pod.Spec.NodeName != "" && tested() == controlplane.Older
		nominated := pod.Status.NominatedNodeName != "" && !leftOver
		if nominated || (pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodRunning) {
			return errorf("%s is %s on %q, nominated to %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName, pod.Status.NominatedNodeName)
		}
	}
	if err != nil {
		return err
	}
	free, err := e.muster.Metric("muster_gpu_free")
	capacity, err2 := e.muster.Metric("muster_gpu_capacity")
	if err == nil {
		err = err2
	}
	if err == nil && int(capacity-free) != used {
		err = errorf("%g of %g GPUs are free, and %d are in use", free, capacity, used)
	}
	return err
}

func TestAGangThatKueuePreemptsLeavesNothingBehindAndStartsAgain(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			e := withKueue(t, 8)
			e.addGPUNodes(2)
			low := e.submit("low", form.job)
			e.wholeWithKueue(low)
			high := e.submit("high", form.job, kueuePriority())
			e.wholeWithKueue(high)
			e.eventually(30*time.Second, "nothing of low is left", func() error { return e.holdsNothing(low, 8) })
			e.muster.Process.Stop(20 * time.Second) // what Kueue keeps of low is all that the next one learns
			e.must(e.muster.Restart(e.ctx))
			e.eventually(30*time.Second, "nothing of low comes back", func() error { return e.holdsNothing(low, 8) })
			e.replaced(low)
			e.noneBound(2*time.Second, low)
			e.end(high.Gang)
			e.wholeWithKueue(low)
		})
	}
}

// leaves waits until Kueue has deleted the gang's pods.
func (e *env) leaves(g kueueGang) {
	e.t.Helper()
	e.eventually(30*time.Second, "Kueue deletes the pods of "+g.Name, func() error {
		pods, err := e.stay(g.Gang)
		if err == nil && len(pods) > 0 {
			err = errorf("%d stay%s", len(pods), e.kueueSays())
		}
		return err
	})
}

func TestAGangThatKueuePreemptsWhileItIsReservedKeepsNoRoom(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			e := withKueue(t, 8)
			e.addGPUNodes(1)
			hold := e.proxy.Add(proxy.Fault{Match: proxy.GateRemoval.In(e.ns), Hold: true})
			low := e.submit("low", form.job)
			e.eventually(30*time.Second, "every member is nominated", func() error {
				pods, err := e.pods(low.Gang)
				if err == nil && len(pods) != low.Members {
					return errorf("%d pods are there", len(pods))
				}
				for _, pod := range pods {
					if pod.Status.NominatedNodeName == "" {
						return errorf("%s is not; %s", pod.Name, e.why(low.Gang))
					}
				}
				return err
			})
			high := e.submit("high", form.job, kueuePriority())
			e.leaves(low)
			hold.Remove()
			e.wholeWithKueue(high)
			e.eventually(3*time.Second, "nothing of low is left", func() error { return e.holdsNothing(low, 8) })
			e.replaced(low)
			e.end(high.Gang)
			e.wholeWithKueue(low)
		})
	}
}

func TestAGangTakesTheRoomOfOneThatKueuePreemptsWhenAllOfItHasGone(t *testing.T) {
	e := withKueue(t, 8)
	e.addGPUNodes(1)
	low := e.submit("low", true, objects.Lingering)
	e.wholeWithKueue(low)
	high := e.submit("high", true, kueuePriority())
	e.leaves(low)
	e.noneBound(2*time.Second, high)
	pods, err := e.pods(low.Gang)
	e.must(err)
	for _, pod := range pods[1:] {
		e.must(e.letGo(pod.Name))
	}
	e.noneBound(2*time.Second, high)
	e.must(e.letGo(pods[0].Name))
	e.wholeWithKueue(high)
}

func TestAGangThatKueueStopsWhileItsVictimsLeaveKeepsNoEarmark(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			e := withKueue(t, 8)
			e.definePriorities()
			e.setPolicy("preemption: lowerPriority")
			e.addGPUNodes(1)
			old := e.gang("old", 2, 4, objects.Lingering)
			e.add(old)
			e.whole(30*time.Second, old)
			urgent := e.submit("urgent", form.job, objects.WithPriorityClass(urgentClass))
			e.waitsFor(urgent.Gang, "VictimsLeaving")
			e.deactivate(urgent)
			e.leaves(urgent)
			e.eventually(3*time.Second, "nothing of it is left", func() error { return e.holdsNothing(urgent, 8) })
			other := e.gang("other", 2, 4)
			e.add(other)
			for i := range 2 {
				e.must(e.letGo(old.Pod(i).Name))
			}
			e.whole(10*time.Second, other)
		})
	}
}

// deactivate has Kueue stop a gang, as `kubectl kueue stop workload` does.
func (e *env) deactivate(g kueueGang) {
	e.t.Helper()
	names, err := e.Kubectl(e.ctx, "", "-n", e.ns, "get", "workloads.kueue.x-k8s.io", "-o", "name")
	e.must(err)
	for _, name := range strings.Fields(names) {
		if part := strings.Split(name, "/")[1]; part == g.Name || strings.HasPrefix(part, "job-"+g.Name+"-") {
			_, err := e.Kubectl(e.ctx, "", "-n", e.ns, "patch", name, "--type=merge", "-p", `{"spec":{"active":false}}`)
			e.must(err)
			return
		}
	}
	e.t.Fatalf("%s has no workload: %s", g.Name, names)
}
