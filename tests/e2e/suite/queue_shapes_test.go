package suite

import (
	"fmt"
	"testing"
	"time"

	"muster.dev/e2e/objects"
)

// withShapes is three nodes of eight GPUs, two of which research is guaranteed as a whole. Pods are spread.
func withShapes(t *testing.T) *env {
	t.Helper()
	e := in(t, mustered(t, worldOptions{}))
	e.setTeams(`placement: {strategy: spread}
queues:
- {name: research, guarantee: {gpu: 16, shapes: [{wholeNodes: 2}]}}
- {name: prod, guarantee: {gpu: 12}}
- {name: guests}
`)
	e.addGPUNodes(3)
	return e
}

func (e *env) flood(name, queue string, count, gpus int, options ...objects.PodOption) []objects.Gang {
	e.t.Helper()
	options = append([]objects.PodOption{objects.Annotated(queueName, queue)}, options...)
	var gangs []objects.Gang
	for i := range count {
		gangs = append(gangs, e.gang(fmt.Sprintf("%s-%d", name, i), 1, gpus, options...))
	}
	e.add(gangs...)
	return gangs
}

func (e *env) nodesTaken(gangs ...objects.Gang) map[string]int {
	e.t.Helper()
	taken := map[string]int{}
	for _, g := range gangs {
		pods, err := e.pods(g)
		e.must(err)
		for _, pod := range pods {
			if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
				taken[pod.Spec.NodeName]++
			}
		}
	}
	return taken
}

func TestWholeNodesAreTakenBackFromAFloodOfSingleGPUs(t *testing.T) {
	e := withShapes(t)
	singles := e.flood("single", "guests", 12, 1)
	e.whole(30*time.Second, singles...)
	if taken := e.nodesTaken(singles...); len(taken) < 2 {
		t.Fatalf("the single pods are on %v", taken)
	}
	mine := e.teamGang("mine", "research", 2, 8)
	e.add(mine)
	e.whole(60*time.Second, mine)
	left := e.nodesTaken(singles...)
	for node := range e.nodesTaken(mine) {
		if left[node] > 0 {
			t.Errorf("%d single pods are left on %s, which is mine", left[node], node)
		}
	}
	if len(left) == 0 {
		t.Errorf("those on the third node were evicted, too: %v", left)
	}
}

// Nobody could have those evicted once they run.
func TestWholeNodesArePromisedAndPodsThatCannotBeEvictedStayOffThem(t *testing.T) {
	e := withShapes(t)
	keeps := objects.Annotated("muster.dev/preemptible", "false")
	serving := e.flood("serving", "prod", 4, 2, keeps)
	e.whole(30*time.Second, serving...)
	if taken := e.nodesTaken(serving...); len(taken) != 1 {
		t.Errorf("they are on %v, and two whole nodes are promised", taken)
	}
	// Within its guarantee no pod can be evicted either.
	usual := e.flood("usual", "prod", 1, 1)
	e.always(4*time.Second, "it stays off promised nodes", func() error {
		if taken := e.nodesTaken(usual...); len(taken) > 0 {
			return errorf("it is on %v", taken)
		}
		return nil
	})
	mine := e.teamGang("mine", "research", 2, 8)
	e.add(mine)
	e.whole(30*time.Second, mine)
	for _, g := range serving {
		e.runsOn(0, g)
	}
	e.addNodes(objects.Node("more", 8))
	e.whole(30*time.Second, usual...)
}

// die has all pods of a gang that Muster knows to run fail at once, as after a fault in the program.
func (e *env) die(g objects.Gang) {
	e.t.Helper()
	e.waitsFor(g, "Running")
	for i := range g.Members {
		e.deletePod(g.Pod(i).Name)
	}
}

// What a gang had that others were evicted for is kept for a while when it dies early; nobody is evicted twice.
func TestAGangThatDiesEarlyFindsItsRoomAgainAndHasNobodyEvictedTwice(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setTeams(`queues:
- {name: research, guarantee: {gpu: 16}, preemption: {minRuntime: {reclaim: 10m}, restartWindow: 20s}}
- {name: guests}
`)
	e.addGPUNodes(2)
	old := e.teamGang("old", "guests", 2, 8)
	e.add(old)
	e.whole(30*time.Second, old)
	time.Sleep(1100 * time.Millisecond) // starts are told in seconds
	mine := e.teamGang("mine", "research", 2, 8)
	e.add(mine)
	e.whole(60*time.Second, mine)
	e.gone(old)

	small := e.teamGang("small", "guests", 2, 4)
	e.die(mine)
	e.add(small)
	e.waitsFor(small, "Reserved")
	time.Sleep(time.Second) // see replacePod
	e.addPods(mine.Pods()...)
	e.whole(15*time.Second, mine)
	if n := e.bound(small); n > 0 {
		t.Errorf("%d pods of the small gang took its room", n)
	}
	// Once more: it has preempted nobody since, so nothing is kept for it, and it preempts nobody.
	e.die(mine)
	e.whole(15*time.Second, small)
	time.Sleep(time.Second)
	e.addPods(mine.Pods()...)
	e.waitsFor(mine, "NotEnoughGpus")
	e.runsOn(5*time.Second, small)
	e.told(e.ns, "GangEndedEarly", "it preempts nobody for an hour")
}
