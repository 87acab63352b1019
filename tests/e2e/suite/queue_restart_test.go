package suite

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// withGuests is three nodes, all of which gangs of guests use; research is guaranteed two of them. `old` has two pods.
func withGuests(t *testing.T) (e *env, old, other objects.Gang) {
	t.Helper()
	e = in(t, mustered(t, worldOptions{}))
	e.setTeams("queues:\n- {name: research, guarantee: {gpu: 16}}\n- {name: guests}\n")
	e.addGPUNodes(3)
	old = e.teamGang("old", "guests", 2, 8, objects.Lingering)
	other = e.teamGang("other", "guests", 1, 8, objects.Lingering)
	for _, g := range []objects.Gang{old, other} {
		e.add(g)
		e.whole(30*time.Second, g)
		time.Sleep(1100 * time.Millisecond) // starts are told in seconds
	}
	return e, old, other
}

func (e *env) leaving(g objects.Gang) (int, error) {
	pods, err := e.pods(g)
	n := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			n++
		}
	}
	return n, err
}

func (e *env) allLeave(g objects.Gang) {
	e.t.Helper()
	e.eventually(afterKill, "all of "+g.Name+" is evicted", func() error {
		if n, err := e.leaving(g); err != nil || n != g.Members {
			return errorf("%d are, %v", n, err)
		}
		return nil
	})
}

func TestAReclaimOutlivesMusterAndEvictsNobodyElse(t *testing.T) {
	e, old, other := withGuests(t)
	mine := e.teamGang("mine", "research", 2, 8)
	e.add(mine)
	e.allLeave(old)
	e.muster.Process.Stop(20 * time.Second)
	e.must(e.muster.Restart(e.ctx))
	e.waitsFor(mine, "VictimsLeaving")
	e.runsOn(5*time.Second, other)
	e.must(e.letGo(old.Pod(0).Name))
	e.runsOn(3*time.Second, other)
	if n := e.bound(mine); n > 0 {
		t.Errorf("%d of two members are bound", n)
	}
	e.must(e.letGo(old.Pod(1).Name))
	e.whole(30*time.Second, mine)
	e.runsOn(3*time.Second, other)
}

// The other gang is the first that would go, had nobody been evicted yet.
func TestAReclaimThatMusterDiedInTheMiddleOfGoesOnWithTheSameGang(t *testing.T) {
	e, old, other := withGuests(t)
	second := e.proxy.Add(proxy.Fault{Match: proxy.Eviction.In(e.ns), Skip: 3, Hold: true}) // two are tried dry first
	mine := e.teamGang("mine", "research", 2, 8)
	e.add(mine)
	e.reached(second, 30*time.Second)
	e.eventually(10*time.Second, "one of two pods is evicted", func() error {
		if n, err := e.leaving(old); err != nil || n != 1 {
			return errorf("%d are, %v", n, err)
		}
		return nil
	})
	e.muster.Process.Kill()
	second.Remove()
	e.must(e.muster.Restart(e.ctx))
	e.allLeave(old)
	e.runsOn(3*time.Second, other)
	for i := range 2 {
		e.must(e.letGo(old.Pod(i).Name))
	}
	e.whole(30*time.Second, mine)
	e.runsOn(3*time.Second, other)
}

// One budget over the pods of two gangs: one of them may go, and both may not.
func TestABudgetThatTwoGangsOfAQueueShareLetsOneOfThemGo(t *testing.T) {
	e := withBudgetsKept(t)
	shared := objects.Labelled("e2e.muster.dev/budget", "shared")
	first := e.teamGang("first", "guests", 2, 4, shared)
	second := e.teamGang("second", "guests", 2, 4, shared)
	e.add(first)
	e.whole(30*time.Second, first)
	e.add(second)
	e.whole(30*time.Second, second)
	both := first
	both.Members = 4
	e.protectAll(both, "keep", 2, "e2e.muster.dev/budget", "shared")
	for i, team := range []string{"research", "prod"} {
		g := e.teamGang(team, team, 2, 4)
		e.add(g)
		if i == 0 {
			e.whole(60*time.Second, g)
			continue
		}
		e.waitsFor(g, "DisruptionBudget")
		left := first
		if n := e.bound(second); n > 0 {
			left = second
		}
		e.runsOn(3*time.Second, left)
		e.must(e.Client.PolicyV1().PodDisruptionBudgets(e.ns).Delete(e.ctx, "keep", metav1.DeleteOptions{}))
		e.whole(60*time.Second, g)
	}
}
