package suite

import (
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/proxy"
)

// storm is a way in which the API server fails for a while.
type storm struct {
	name  string
	fault proxy.Fault
}

var storms = []storm{
	{"429 with Retry-After", proxy.Fault{Match: proxy.Write, Status: http.StatusTooManyRequests, RetryAfter: 1, Times: 30}},
	{"500", proxy.Fault{Match: proxy.Write, Status: http.StatusInternalServerError, Times: 30}},
	{"503 on every write for some seconds", proxy.Fault{Match: proxy.Write, Status: http.StatusServiceUnavailable}},
	{"every third call breaks", proxy.Fault{Match: everyThird(proxy.Write), Drop: true, Times: 30}},
	{"binds are carried out and their answers lost", proxy.Fault{Match: proxy.Bind, LoseAnswer: true, Times: 5}},
	{"nominations are carried out and their answers lost", proxy.Fault{Match: proxy.Nomination, LoseAnswer: true, Times: 5}},
	{"gates go and the answers are lost", proxy.Fault{Match: proxy.GateRemoval, LoseAnswer: true, Times: 5}},
	{"409 on bind", proxy.Fault{Match: proxy.Bind, Status: http.StatusConflict, Reason: "Conflict", Times: 3}},
}

func everyThird(match proxy.Match) proxy.Match {
	var mu sync.Mutex
	n := 0
	return func(r proxy.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if !match(r) {
			return false
		}
		n++
		return n%3 == 0
	}
}

func TestAGangStartsWholeThroughAStormOfFailures(t *testing.T) {
	for _, s := range storms {
		t.Run(s.name, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{}))
			e.addGPUNodes(4)
			g := e.gang("g", 16, 2)
			fault := s.fault
			fault.Match = fault.Match.In(e.ns)
			active := e.proxy.Add(fault)
			e.add(g)
			uids := e.uids(g)
			if fault.Times == 0 {
				time.Sleep(5 * time.Second)
				active.Remove()
			}
			e.whole(60*time.Second, g)
			e.sameUIDs(g, uids)
			if active.Hits() == 0 {
				t.Error("nothing failed")
			}
		})
	}
}

// A pod that somebody changes just before its Binding: the Binding's precondition fails in earnest.
func TestABindThatLosesARaceAgainstAnotherWriterIsTriedAgain(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	g := e.gang("g", 4, 4)
	active := e.proxy.Add(proxy.Fault{Match: proxy.Bind.In(e.ns), Times: 2, Before: func() {
		for i := range 4 {
			_, _ = e.Client.CoreV1().Pods(e.ns).Patch(e.ctx, g.Pod(i).Name, types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"changed":"meanwhile"}}}`), metav1.PatchOptions{})
		}
	}})
	e.add(g)
	e.whole(60*time.Second, g)
	if active.Hits() == 0 {
		t.Error("no bind was raced")
	}
}

// Muster misses the end of a gang, and is then told that what it knew is too old.
func TestAWatchThatIsGoneIsListedAgainAndWhatWentMeanwhileIsForgotten(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	old, next := e.gang("old", 2, 8), e.gang("next", 2, 8)
	e.add(old)
	e.whole(30*time.Second, old)
	reads := func(r proxy.Request) bool { return r.Verb == "watch" || r.Verb == "list" }
	blind := e.proxy.Add(proxy.Fault{Match: reads, Status: http.StatusServiceUnavailable})
	e.proxy.EndWatches()
	e.delete(old)
	e.add(next)
	time.Sleep(2 * time.Second)
	gone := e.proxy.Add(proxy.Fault{Match: proxy.Watch, Status: http.StatusGone, Reason: "Expired", Times: 12})
	blind.Remove()
	e.whole(60*time.Second, next)
	if gone.Hits() == 0 {
		t.Error("no watch was refused")
	}
}

func TestAWatchThatKeepsBreakingDelaysNothingForLong(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
				e.proxy.EndWatches()
			}
		}
	})
	defer ended.Wait()
	defer close(stop)
	for _, name := range []string{"a", "b", "c"} {
		g := e.gang(name, 8, 1)
		e.add(g)
		e.whole(60*time.Second, g)
	}
}

func TestAGangStartsWholeAlthoughTheAPIServerRestarts(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	g, next := e.gang("g", 16, 2), e.gang("next", 4, 4)
	strike := make(chan struct{})
	active := e.proxy.Add(proxy.Fault{Match: proxy.Bind.In(e.ns), Skip: 3, Times: 1, Before: func() { close(strike) }})
	e.add(g)
	e.reached(active, 30*time.Second)
	<-strike
	e.must(e.RestartAPIServer(e.ctx, nil))
	e.eventually(afterKill, "the gang is whole", func() error { return e.isWhole(g) })
	e.end(g)
	e.add(next)
	e.whole(60*time.Second, next)
}

func TestAGangStartsWholeAlthoughKubeSchedulerRestarts(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	g := e.gang("g", 8, 4)
	hold := e.proxy.Add(proxy.Fault{Match: proxy.GateRemoval.In(e.ns), Skip: 7, Hold: true})
	e.add(g)
	e.reached(hold, 30*time.Second)
	time.Sleep(time.Second) // the released seven come to the barrier
	if n := e.bound(g); n > 0 {
		t.Fatalf("%d members are bound before the last is released", n)
	}
	e.scheduler.Kill()
	hold.Remove()
	e.must(e.startSchedulerOfMuster(e.ctx))
	e.whole(60*time.Second, g)
}
