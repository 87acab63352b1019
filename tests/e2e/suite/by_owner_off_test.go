package suite

import (
	"strings"
	"testing"
	"time"

	"muster.dev/e2e/objects"
)

// byOwner puts the policy's gangs.byOwner to false, or back.
func (e *env) byOwner(on bool) {
	e.t.Helper()
	want := "byOwner: true"
	if on {
		e.must(e.writePolicy(""))
	} else {
		want = "byOwner: false"
		e.must(e.writePolicy("gangs:\n  " + want + "\n"))
	}
	e.eventually(15*time.Second, "the policy says "+want, func() error {
		policy, err := e.muster.Policy()
		if err == nil && !strings.Contains(policy, want) {
			err = errorf("it is\n%s", policy)
		}
		return err
	})
}

// withoutGangsByOwner switches them off; when the test ends they are on again.
func (e *env) withoutGangsByOwner() {
	e.t.Helper()
	e.t.Cleanup(func() { e.byOwner(true) })
	e.byOwner(false)
}

func (e *env) explains(gang, words string) {
	e.t.Helper()
	e.eventually(15*time.Second, "muster explain says "+words, func() error {
		text, err := e.cli("explain", "gang", e.ns+"/"+gang)
		if err == nil && !strings.Contains(text, words) {
			err = errorf("it says\n%s", text)
		}
		return err
	})
}

// addPlaces makes a node each with room for one pod of the Jobs.
func (e *env) addPlaces(names ...string) {
	e.t.Helper()
	for _, name := range names {
		e.addNodes(objects.Node(e.ns+"-"+name, 4))
	}
}

// A Job runs, one waits with room for half of it, and one comes while gangs by owner are off.
func TestGangsByOwnerAreSwitchedOffAndOnWhileJobsRunAndWait(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	mark, err := e.audit.Now()
	e.must(err)
	e.addGPUNodes(2)
	runs := e.ownedGang("runs", 4)
	e.whole(30*time.Second, runs)
	uids := e.uids(runs)
	e.addNodes(objects.Nodes(e.ns+"-half", 1, 8)...)
	train := e.ownedGang("train", 4)
	waits := func() error { return e.staysWaiting(train, 4) }
	e.eventually(30*time.Second, "it has its pods", waits)
	e.always(3*time.Second, "it waits", waits)
	e.auditor.Forget(train.Key())

	e.withoutGangsByOwner()
	e.waitBound(30*time.Second, train, 2)
	for _, pod := range e.allByThemselves(8, 2) {
		e.explains(pod.Name, "gangs.byOwner of the policy is false")
	}
	late := e.ownedGang("late", 2)
	e.eventually(30*time.Second, "the new one waits", func() error { return e.staysWaiting(late, 2) })

	e.byOwner(true)
	e.explains("train", "its owner says 4 pods, but it began with 1: the others start one by one")
	for i, name := range []string{"a", "b"} { // the rest of a gang of which pods run
		e.addPlaces(name)
		e.waitBound(30*time.Second, train, 3+i)
	}
	e.addPlaces("c")
	e.always(3*time.Second, "half of the new one does not start", func() error { return e.staysWaiting(late, 2) })
	e.addPlaces("d")
	e.whole(30*time.Second, late)

	e.suspend(true) // until then a gang wants one pod, and from then on all
	e.gone(train)
	e.must(e.patchNode(e.ns+"-half-0", `{"spec":{"unschedulable":true}}`))
	e.suspend(false)
	e.eventually(30*time.Second, "it has its pods again", waits)
	e.always(3*time.Second, "half of it does not start", waits)
	e.must(e.patchNode(e.ns+"-half-0", `{"spec":{"unschedulable":false}}`))
	e.whole(30*time.Second, train)
	e.must(e.isWhole(runs))
	e.sameUIDs(runs, uids)
	e.evictedNobodySince(mark)
}

func TestPodsThatWaitAreAGangAsSoonAsGangsByOwnerAreSwitchedOn(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	runs := e.gang("runs", 1, 8)
	e.add(runs)
	e.whole(30*time.Second, runs)
	e.withoutGangsByOwner()
	train := e.ownedGang("train", 2)
	e.eventually(30*time.Second, "its pods wait, each by itself", func() error {
		_, alone, err := e.gangsHere()
		if err == nil && len(alone) != 2 {
			err = errorf("alone are %s", show(alone))
		}
		return err
	})
	e.byOwner(true)
	e.eventually(10*time.Second, "Muster takes the two for a gang", func() error {
		gangs, alone, err := e.gangsHere()
		if err == nil && len(alone) != 0 {
			err = errorf("alone are %s beside %s", show(alone), show(gangs))
		}
		return err
	})
	e.end(runs)
	e.whole(30*time.Second, train)
}
