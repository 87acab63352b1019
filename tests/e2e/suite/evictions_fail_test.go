package suite

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// A team's webhook is down: the API server answers 500 to the evictions of its pods. Two gangs run that may be evicted; whichever is
// chosen first is that team's.
func TestAGangWhoseEvictionsFailIsLeftAloneAndAnotherOneMakesWay(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.definePriorities()
	e.setPolicy("preemption: lowerPriority")
	e.addGPUNodes(2)
	running := map[string]objects.Gang{}
	for _, name := range []string{"one", "other"} {
		running[name] = e.gang(name, 2, 4)
		e.add(running[name])
		e.whole(30*time.Second, running[name])
	}
	var mu sync.Mutex
	broken := ""
	failing := e.proxy.Add(proxy.Fault{Status: http.StatusInternalServerError, Match: func(r proxy.Request) bool {
		if !proxy.Eviction.In(e.ns)(r) {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		gang, _, _ := strings.Cut(r.Name, "-")
		if broken == "" {
			broken = gang
		}
		return gang == broken
	}})
	defer failing.Remove()
	urgent := e.gang("urgent", 2, 4, objects.WithPriorityClass(urgentClass))
	e.add(urgent)
	e.whole(60*time.Second, urgent)
	stays, err := e.pods(running[broken])
	e.must(err)
	if len(stays) != 2 {
		t.Errorf("%d pods of gang %s are left", len(stays), broken)
	}
	for _, pod := range stays {
		if pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" {
			t.Errorf("%s is evicted", pod.Name)
		}
	}
	// Three tries, each with both pods at most.
	if n := failing.Hits(); n < 3 || n > 6 {
		t.Errorf("its eviction was asked for %d times", n)
	}
}
