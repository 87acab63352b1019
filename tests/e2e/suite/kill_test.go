package suite

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// After kill -9 nobody gives the Lease back: it runs out after 15 s, and then what is partly bound must be finished
// within 60 s.
const afterKill = 90 * time.Second

// killPoint is a call at which muster dies: the call after `passed` such calls, before it is carried out or after.
type killPoint struct {
	name   string
	match  proxy.Match
	passed int
	after  bool
}

const killedMembers = 8

var killPoints = []killPoint{
	{"before nominations", proxy.Nomination, 0, false},
	{"between nomination and release", proxy.GateRemoval, 0, false},
	{"between release and bind", proxy.GateRemoval, killedMembers - 1, true},
	{"at the first bind", proxy.Bind, 0, false},
	{"in the midst of the binds", proxy.Bind, killedMembers / 2, false},
	{"when the last bind is carried out", proxy.Bind, killedMembers - 1, true},
}

func TestAGangSurvivesKillNineOfMuster(t *testing.T) {
	for _, point := range killPoints {
		t.Run(point.name, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{}))
			e.addGPUNodes(4)
			g := e.gang("g", killedMembers, 4)
			fault := e.proxy.Add(killAt(e, point))
			e.add(g)
			e.reached(fault, 30*time.Second)
			uids := e.uids(g)
			fault.Remove()
			e.must(e.muster.Restart(e.ctx))
			e.whole(afterKill, g)
			e.sameUIDs(g, uids)
			e.always(2*time.Second, "it stays whole", func() error { return e.isWhole(g) })
		})
	}
}

func killAt(e *env, point killPoint) proxy.Fault {
	fault := proxy.Fault{Match: point.match.In(e.ns), Skip: point.passed}
	kill := func() { e.muster.Process.Kill() }
	if point.after {
		fault.After, fault.LoseAnswer = kill, true
	} else {
		fault.Before, fault.Drop = kill, true
	}
	return fault
}

// A crash loop: each life is too short for all members of a gang to come to Bind at the same time. What is bound in part
// is bound further as its calls come, in whichever life, and what has not begun starts once there is time.
func TestGangsStartWhileMusterIsKilledAgainAndAgain(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(24)
	random := rand.New(rand.NewSource(16))
	var gangs []objects.Gang
	for i := range 12 {
		gangs = append(gangs, e.gang(fmt.Sprintf("g%d", i), 16, 1))
	}
	e.add(gangs...)
	uids := map[string]types.UID{}
	for _, g := range gangs {
		for name, uid := range e.uids(g) {
			uids[name] = uid
		}
	}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		time.Sleep(time.Second + time.Duration(random.Intn(3000))*time.Millisecond)
		e.muster.Process.Kill()
		<-e.muster.Process.Done()
		// Nobody waits until the Lease of who was killed runs out.
		err := e.Client.CoordinationV1().Leases(muster.Namespace).Delete(e.ctx, "muster", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		e.must(e.muster.Start())
	}
	e.must(e.muster.WaitReady(e.ctx))
	e.whole(afterKill, gangs...)
	for _, g := range gangs {
		for name, uid := range e.uids(g) {
			if uid != uids[name] {
				t.Errorf("%s is another pod now", name)
			}
		}
	}
}

// A gang that ran before and one that waited: both are known again from the API's objects alone.
func TestARestartKeepsWhatRunsAndPlansTheRestAgain(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	runs, waits := e.gang("runs", 3, 8), e.gang("waits", 2, 8)
	e.add(runs)
	e.whole(30*time.Second, runs)
	e.add(waits)
	uids := e.uids(runs)
	e.muster.Process.Kill()
	e.must(e.muster.Restart(e.ctx))
	e.always(20*time.Second, "the one that ran is whole, the other holds nothing", func() error {
		if n := e.bound(waits); n > 0 {
			return errorf("%d members of the one that waits are bound", n)
		}
		return e.isWhole(runs)
	})
	e.sameUIDs(runs, uids)
	e.end(runs)
	e.whole(30*time.Second, waits)
}

func (e *env) reached(fault *proxy.Active, within time.Duration) {
	e.t.Helper()
	select {
	case <-fault.Reached():
	case <-time.After(within):
		e.t.Fatalf("the call at which the test strikes has not come within %s", within)
	}
}

func (e *env) uids(g objects.Gang) map[string]types.UID {
	e.t.Helper()
	pods, err := e.pods(g)
	e.must(err)
	out := map[string]types.UID{}
	for _, pod := range pods {
		out[pod.Name] = pod.UID
	}
	return out
}

// sameUIDs: nobody was evicted and made anew.
func (e *env) sameUIDs(g objects.Gang, want map[string]types.UID) {
	e.t.Helper()
	for name, uid := range e.uids(g) {
		if uid != want[name] {
			e.t.Errorf("%s is another pod now", name)
		}
	}
}

func (e *env) isWhole(g objects.Gang) error {
	pods, err := e.pods(g)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed {
			return errorf("%s is on node %q, %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
		}
	}
	if len(pods) != g.Members {
		return errorf("%d of %d pods exist", len(pods), g.Members)
	}
	return nil
}
