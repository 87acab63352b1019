package suite

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// A Job says itself since when it waits: its pods may be made anew, and Muster may forget all that it saw.
func TestAJobWhosePodsAreMadeAnewKeepsItsPlaceThroughARestart(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	holder := e.gang("holder", 2, 4) // all there is
	e.add(holder)
	e.whole(30*time.Second, holder)
	first := e.waitingJob("first")
	time.Sleep(1100 * time.Millisecond) // the API's times have whole seconds
	second := e.waitingJob("second")
	begin := time.Now()
	pods, err := e.podsOfJob(first.Name)
	e.must(err)
	for _, pod := range pods {
		e.must(e.Client.CoreV1().Pods(e.ns).Delete(e.ctx, pod.Name, metav1.DeleteOptions{}))
	}
	e.eventually(90*time.Second, "its pods are made anew, later than the other Job's", func() error {
		pods, err := e.podsOfJob(first.Name)
		for _, pod := range pods {
			if pod.CreationTimestamp.Time.Before(begin.Truncate(time.Second)) {
				return errorf("%s is of before", pod.Name)
			}
		}
		if err == nil && len(pods) != first.Members {
			err = errorf("%d are there", len(pods))
		}
		return err
	})
	e.muster.Process.Kill()
	e.must(e.muster.Restart(e.ctx))
	e.end(holder)
	e.wholeAgain(60*time.Second, first)
	if n := e.bound(second); n != 0 {
		t.Errorf("%d pods of the later Job are bound", n)
	}
}

// waitingJob is a gang of two by its owner, for which there is no room.
func (e *env) waitingJob(name string) objects.Gang {
	e.t.Helper()
	g := e.ownedGang(name, 2, "backoffLimit: 100")
	e.eventually(30*time.Second, name+" waits", func() error { return e.staysWaiting(g, 2) })
	return g
}
