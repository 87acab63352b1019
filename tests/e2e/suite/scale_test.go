package suite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/e2e/audit"
	"muster.dev/e2e/objects"
)

// startTimes is how long single gangs of eight take one after another, from the last pod's creation to all bound.
func (e *env) startTimes(prefix string, count int, options ...objects.PodOption) []time.Duration {
	e.t.Helper()
	var out []time.Duration
	for i := range count {
		g := e.gang(fmt.Sprintf("%s-%d", prefix, i), 8, 4, options...)
		e.add(g)
		begin := time.Now()
		e.whole(60*time.Second, g)
		out = append(out, time.Since(begin))
		e.delete(g)
	}
	slices.Sort(out)
	return out
}

func TestTenThousandPendingPodsCostNoFilterCallsAndDoNotSlowAnUrgentGang(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.definePriorities()
	e.addGPUNodes(130)
	holder := e.gang("holder", 126, 8)
	e.add(holder)
	e.whole(60*time.Second, holder)
	alone := e.startTimes("alone", 5, objects.WithPriorityClass("e2e-high"))

	before, err := e.muster.Metric("muster_extender_requests_total", `verb="filter"`)
	e.must(err)
	begin := time.Now()
	for i := range 100 {
		e.add(e.gang(fmt.Sprintf("waits-%d", i), 100, 8, objects.WithPriorityClass("e2e-low")))
	}
	t.Logf("10,000 pods created in %s", time.Since(begin).Round(time.Second))
	time.Sleep(3 * time.Second)
	after, err := e.muster.Metric("muster_extender_requests_total", `verb="filter"`)
	e.must(err)
	if after != before {
		t.Errorf("pods that wait behind the gate caused %.0f Filter calls", after-before)
	}

	among := e.startTimes("urgent", 5, objects.WithPriorityClass("e2e-high"))
	t.Logf("a gang of eight, complete to bound: alone %s, among 10,000 %s (medians of 5)", alone[2], among[2])
	if among[2] > 2*alone[2]+500*time.Millisecond {
		t.Errorf("the urgent gang took %s among 10,000 pods, and %s alone", among[2], alone[2])
	}
}

func TestAGangThatCannotStartCostsNoWriteWhileNothingChanges(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	holder := e.gang("holder", 3, 8)
	e.add(holder)
	e.whole(30*time.Second, holder)
	e.add(e.gang("waits", 20, 2), e.gang("never", 80, 8))
	time.Sleep(15 * time.Second) // it says why it waits, and after 10 s at the latest that it never will
	mark, err := e.audit.Now()
	e.must(err)
	const quiet = 20 * time.Second
	time.Sleep(quiet)
	e.wroteNothingSince(mark)
}

func (e *env) wroteNothingSince(mark audit.Mark) {
	e.t.Helper()
	writes, err := e.audit.Since(mark)
	e.must(err)
	for _, user := range []string{audit.Muster, audit.MusterScheduler} {
		if n := writes[user].Total(); n > 0 {
			e.t.Errorf("%d writes of %s while nothing changed: %s", n, user, writes[user])
		}
	}
}

// What a start costs in writes: nominations, gates, bindings and a few for the gang as a whole.
func TestAGangCostsThreeWritesAMemberAndAHandfulForAll(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(8)
	g := e.gang("g", 64, 1)
	mark, err := e.audit.Now()
	e.must(err)
	e.add(g)
	e.whole(60*time.Second, g)
	time.Sleep(3 * time.Second)
	writes, err := e.audit.Since(mark)
	e.must(err)
	t.Logf("64 members: %s", writes[audit.Muster])
	if n := writes[audit.Muster].Total(); n > 3*64+10 {
		t.Errorf("%d writes", n)
	}
	if n := writes[audit.MusterScheduler]["patch pods/status"]; n > 8 {
		t.Errorf("kube-scheduler was refused and said so %d times", n)
	}
}

const (
	manyNodes = 5000
	manyGangs = 2000
)

func TestAStartWithFiveThousandNodesAndTwoThousandGangsIsReadyWithinTenSeconds(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{bulk: true}))
	begin := time.Now()
	e.addNodes(objects.Nodes(e.ns, manyNodes, 8)...)
	e.addRunningGangs()
	t.Logf("%d nodes and %d gangs made in %s", manyNodes, manyGangs, time.Since(begin).Round(time.Second))
	e.muster.Process.Stop(20 * time.Second)
	begin = time.Now()
	e.must(e.muster.Start())
	e.must(e.muster.WaitReady(e.ctx))
	took := time.Since(begin)
	t.Logf("ready after %s", took.Round(10*time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("ready only after %s", took)
	}
	for gauge, want := range map[string]float64{"muster_nodes": manyNodes, "muster_gpu_free": 8*manyNodes - 4*manyGangs} {
		if got, err := e.muster.Metric(gauge); err != nil || got != want {
			t.Errorf("%s is %.0f instead of %.0f (%v)", gauge, got, want, err)
		}
	}
	g := e.gang("next", 64, 8)
	e.add(g)
	e.whole(60*time.Second, g)
}

// addRunningGangs writes gangs of two pods with two GPUs each as if they had been bound long ago.
func (e *env) addRunningGangs() {
	e.t.Helper()
	var pods []*corev1.Pod
	var gangs []objects.Gang
	for i := range manyGangs {
		g := e.gang(fmt.Sprintf("runs-%d", i), 2, 2)
		gangs = append(gangs, g)
		for j, pod := range g.Pods() {
			pod.Spec.NodeName = e.ns + "-" + strconv.Itoa((2*i+j)%manyNodes)
			first := 2 * ((2*i + j) / manyNodes)
			pod.Annotations["muster.dev/gpus"] = strings.Join([]string{strconv.Itoa(first), strconv.Itoa(first + 1)}, ",")
			pods = append(pods, pod)
		}
	}
	each(gangs, e.addGroup)
	e.addPods(pods...)
}

func (e *env) definePriorities() {
	e.t.Helper()
	_, err := e.Kubectl(e.ctx, `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: e2e-low}
value: 10
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: e2e-high}
value: 1000
`, "apply", "-f", "-")
	e.must(err)
}
