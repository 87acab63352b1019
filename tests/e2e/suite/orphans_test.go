package suite

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// Jobs that are deleted with --cascade=orphan: their pods have no owner any more, so they are in no gang.

func (e *env) orphan(g objects.Gang) {
	e.t.Helper()
	e.auditor.Forget(g.Key())
	orphan := metav1.DeletePropagationOrphan
	e.must(e.Client.BatchV1().Jobs(e.ns).Delete(e.ctx, g.Name, metav1.DeleteOptions{PropagationPolicy: &orphan}))
	e.eventually(30*time.Second, "the pods have no owner", func() error {
		pods, err := e.pods(g)
		for _, pod := range pods {
			if len(pod.OwnerReferences) > 0 {
				return errorf("%s has %v", pod.Name, pod.OwnerReferences)
			}
		}
		return err
	})
}

// allByThemselves waits until Muster knows every pod here as one by itself, and returns those that wait.
func (e *env) allByThemselves(pods, waiting int) []muster.Gang {
	e.t.Helper()
	var waits []muster.Gang
	e.eventually(30*time.Second, "each pod is by itself, and those without room wait", func() error {
		gangs, alone, err := e.gangsHere()
		waits = nil
		for _, pod := range alone {
			if pod.Bound == 0 {
				waits = append(waits, pod)
			}
		}
		if err == nil && (len(gangs) != 0 || len(alone) != pods || len(waits) != waiting) {
			err = errorf("gangs %s and alone %s", show(gangs), show(alone))
		}
		return err
	})
	return waits
}

func TestPodsThatLoseTheirJobWhileTheyWaitStartOneByOneAndSayWhatTheyLack(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	train := e.ownedGang("train", 4)
	e.eventually(30*time.Second, "it waits", func() error { return e.staysWaiting(train, 4) })
	e.orphan(train)
	e.boundOf(objects.GangLabel+"="+train.Name, 2)
	for _, pod := range e.allByThemselves(4, 2) {
		if pod.Reason.Code != "NotEnoughGpus" {
			t.Errorf("%s waits for %q: %s", pod.Name, pod.Reason.Code, pod.Reason.Message)
		}
	}
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.whole(30*time.Second, train)
}

func TestPodsThatLoseTheirJobWhileTheyRunAreNoGangThatCouldLoseAMember(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("partialTimeout: 5s")
	e.addGPUNodes(2)
	mark, err := e.audit.Now()
	e.must(err)
	train := e.ownedGang("train", 4)
	e.whole(30*time.Second, train)
	e.eventually(15*time.Second, "it runs", func() error { return e.allRun(train) })
	e.orphan(train)
	e.allByThemselves(4, 0)
	pods, err := e.pods(train)
	e.must(err)
	e.deletePod(pods[0].Name)
	left := train
	left.Members = 3
	e.eventually(15*time.Second, "it is gone", func() error { return e.isWhole(left) })
	e.always(8*time.Second, "the others run on", func() error { return e.isWhole(left) })
	e.evictedNobodySince(mark)
}

func TestPodsThatLoseTheirJobWhenHalfOfThemAreBoundAllStart(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("partialTimeout: 5s")
	e.addGPUNodes(2)
	mark, err := e.audit.Now()
	e.must(err)
	hold := e.proxy.Add(proxy.Fault{Match: proxy.Bind.In(e.ns), Skip: 2, Hold: true})
	train := e.ownedGang("train", 4)
	e.reached(hold, 30*time.Second)
	e.waitBound(10*time.Second, train, 2)
	uids := e.uids(train)
	e.orphan(train)
	hold.Remove()
	e.whole(60*time.Second, train)
	e.sameUIDs(train, uids)
	e.allByThemselves(4, 0)
	e.evictedNobodySince(mark)
}

func TestPodsThatLoseTheirJobSayWhyTheyDoNotStartTogether(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	train := e.ownedGang("train", 4)
	e.eventually(30*time.Second, "it waits", func() error { return e.staysWaiting(train, 4) })
	e.orphan(train)
	for _, pod := range e.allByThemselves(4, 2) {
		text, err := e.cli("explain", "gang", e.ns+"/"+pod.Name)
		e.must(err)
		if !strings.Contains(text, "Not together") {
			t.Errorf("muster explain says nothing of it:\n%s", text)
		}
	}
}
