package suite

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// What befalls Jobs that are gangs without a PodGroup: siblings_test.go has the same with one.

// leavesNothing: no pod of the gang is there, and Muster knows of none that it would keep room for.
func (e *env) leavesNothing(g objects.Gang) {
	e.t.Helper()
	e.gone(g)
	e.eventually(15*time.Second, "Muster has nothing left of "+g.Name, func() error {
		gangs, alone, err := e.gangsHere()
		for _, gang := range append(gangs, alone...) {
			if strings.Contains(gang.Name, g.Name) && gang.Pods > 0 {
				err = errorf("%s", show(append(gangs, alone...)))
			}
		}
		return err
	})
}

func TestAJobWithoutAGroupThatIsSuspendedAndResumedStartsWholeAgain(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	mark, err := e.audit.Now()
	e.must(err)
	train := e.ownedGang("train", 4)
	e.whole(30*time.Second, train)
	e.eventually(15*time.Second, "it runs", func() error { return e.allRun(train) })
	e.suspend(true)
	e.leavesNothing(train)
	other := e.gang("other", 2, 8) // all there is
	e.add(other)
	e.whole(30*time.Second, other)
	e.end(other)
	e.suspend(false)
	e.wholeAgain(30*time.Second, train)
	e.eventually(15*time.Second, "it runs again", func() error { return e.allRun(train) })
	e.must(e.letJobPodsEnd(train))
	e.eventually(60*time.Second, "the Job is complete", func() error { return succeeded(e.job()) })
	e.evictedNobodySince(mark)
}

func TestAJobWithoutAGroupThatIsResumedWaitsWholeForTheGangThatTookItsRoom(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	mark, err := e.audit.Now()
	e.must(err)
	train := e.ownedGang("train", 4)
	e.isResumedBehind(e.gang("other", 3, 4), train, 4*time.Second) // that leaves room for one pod of the Job
	e.evictedNobodySince(mark)
}

func TestAJobWithoutAGroupThatIsSuspendedWhileItWaitsHoldsNothingAndStartsWholeLater(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	train := e.ownedGang("train", 4)
	waits := func() error { return e.staysWaiting(train, 4) }
	e.eventually(30*time.Second, "it waits", waits)
	e.suspend(true)
	e.leavesNothing(train)
	e.suspend(false)
	e.eventually(30*time.Second, "it waits again", waits)
	e.always(3*time.Second, "half of it does not start", waits)
	e.suspend(true)
	e.leavesNothing(train)
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.suspend(false)
	e.wholeAgain(30*time.Second, train)
}

func TestAJobWithoutAGroupThatIsSuspendedWhenHalfOfItIsBoundStartsWholeLater(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	hold := e.proxy.Add(proxy.Fault{Match: proxy.Bind.In(e.ns), Skip: 2, Hold: true})
	train := e.ownedGang("train", 4)
	e.reached(hold, 30*time.Second)
	e.eventually(10*time.Second, "half of it is bound", func() error {
		pods, err := e.pods(train)
		if n := countBound(pods); err == nil && n != 2 {
			err = errorf("%d are", n)
		}
		return err
	})
	e.suspend(true)
	e.gone(train)
	hold.Remove()
	e.leavesNothing(train)
	e.suspend(false)
	e.wholeAgain(60*time.Second, train)
}

// Such a Job makes new pods beside those that are ending.
func TestAJobWithoutAGroupThatIsResumedWhileItsOldPodsEndStartsWholeWhenTheyHaveGone(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	mark, err := e.audit.Now()
	e.must(err)
	train := e.ownedGang("train", 4)
	e.whole(30*time.Second, train)
	e.eventually(15*time.Second, "it runs", func() error { return e.allRun(train) })
	old, err := e.pods(train)
	e.must(err)
	each(old, func(pod corev1.Pod) {
		patch := []byte(`{"metadata":{"labels":{"` + objects.KubeletLabel + `":"lingers"}}}`)
		_, err := e.Client.CoreV1().Pods(e.ns).Patch(e.ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	e.isResumedBesideOld(train, old)
	e.evictedNobodySince(mark)
}
