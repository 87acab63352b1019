package suite

import (
	"fmt"
	"maps"
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

const (
	// Twelve gangs, one after the other, so that kills find one in the midst of its start at any time.
	loopLasts   = 2 * time.Minute
	loopedGangs = 12
	loopedEvery = 8 * time.Second
	// 1.6 s was the longest of two runs. Who is refused when muster dies is asked about again after 10 s at most, which may
	// take several lives on a busy machine.
	partialInLoop = 45 * time.Second
	// All twelve in each of two runs; the last ones have half a minute, which a busy machine may not give them.
	wholeInLoop = 9
)

// A crash loop: muster leads for one to four seconds in each life, and for less in every other one, which ends at a Bind
// call if one comes. What is partly bound is bound further in the lives that follow, what has not begun starts, and neither
// waits until the loop ends. How long muster takes until it leads is the machine's matter and left out.
func TestGangsStartWhileMusterIsKilledAgainAndAgain(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(24)
	random := rand.New(rand.NewSource(16))
	var gangs []objects.Gang
	uids := map[string]types.UID{}
	seen := starts{partial: map[string]time.Time{}, whole: map[string]bool{}}
	e.muster.Process.Kill()
	begin := time.Now()
	for life := 0; time.Since(begin) < loopLasts; life++ {
		if n := len(gangs); n < loopedGangs && time.Since(begin) >= time.Duration(n)*loopedEvery {
			gangs = append(gangs, e.gang(fmt.Sprintf("g%d", n), 16, 1))
			e.add(gangs[n])
			maps.Copy(uids, e.uids(gangs[n]))
		}
		e.startWithoutLease()
		strike := proxy.Fault{Match: proxy.Bind.In(e.ns), Skip: random.Intn(16), Before: e.muster.Process.Kill, Drop: true}
		if life%2 == 0 {
			e.proxy.Add(strike)
		}
		e.watchStarts(time.Second+time.Duration(random.Intn(3000))*time.Millisecond, gangs, &seen)
		e.proxy.Heal()
		e.muster.Process.Kill()
	}
	t.Logf("%d of %d gangs are whole at the end of the loop; %d times one was partly bound, never for longer than %s",
		len(seen.whole), len(gangs), seen.partly, seen.longest.Round(100*time.Millisecond))
	if len(seen.whole) < wholeInLoop {
		t.Errorf("fewer than %d gangs are whole", wholeInLoop)
	}
	if seen.partly == 0 {
		t.Error("no gang was partly bound, so the kills proved nothing")
	}
	e.startWithoutLease()
	e.whole(afterKill, gangs...)
	for _, g := range gangs {
		e.sameUIDs(g, uids)
	}
}

// startWithoutLease starts muster after a kill and waits until it leads, but not until the Lease of who was killed runs out.
func (e *env) startWithoutLease() {
	e.t.Helper()
	<-e.muster.Process.Done()
	err := e.Client.CoordinationV1().Leases(muster.Namespace).Delete(e.ctx, "muster", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		e.t.Fatal(err)
	}
	e.must(e.muster.Start())
	e.eventually(readyDeadline, "it leads", func() error {
		leads, err := e.muster.Metric("muster_leader")
		if err == nil && leads != 1 {
			err = errorf("it does not")
		}
		return err
	})
}

// starts is what has been seen of gangs that start.
type starts struct {
	partial map[string]time.Time // since when a gang is partly bound
	whole   map[string]bool
	partly  int           // how often one was seen partly bound
	longest time.Duration // for which any was
}

// watchStarts looks at the gangs until that time is over or muster has ended.
func (e *env) watchStarts(lasting time.Duration, gangs []objects.Gang, seen *starts) {
	e.t.Helper()
	for end := time.Now().Add(lasting); time.Now().Before(end) && e.muster.Process.Running(); time.Sleep(100 * time.Millisecond) {
		pods, err := e.list(objects.GangLabel)
		e.must(err)
		bound := map[string]int{}
		for _, pod := range pods {
			if pod.Spec.NodeName != "" {
				bound[pod.Labels[objects.GangLabel]]++
			}
		}
		for _, g := range gangs {
			if age := seen.look(g, bound[g.Name]); age > partialInLoop {
				e.t.Fatalf("%s is partly bound (%d of %d) for %s; %s", g.Name, bound[g.Name], g.Members, age.Round(time.Second), e.why(g))
			}
		}
	}
}

// look notes how many members of a gang are bound, and returns for how long it has been partly bound.
func (s *starts) look(g objects.Gang, bound int) time.Duration {
	since, was := s.partial[g.Name]
	age := time.Duration(0)
	if was {
		age = time.Since(since)
		s.longest = max(s.longest, age)
	}
	if bound > 0 && bound < g.Members {
		if !was {
			s.partial[g.Name] = time.Now()
			s.partly++
		}
		return age
	}
	delete(s.partial, g.Name)
	if bound == g.Members {
		s.whole[g.Name] = true
	}
	return 0
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

// sameUIDs: nobody was evicted and recreated.
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
