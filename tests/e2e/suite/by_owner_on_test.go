package suite

import (
	"testing"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// The pods of a Job wait, each by itself, until gangs by owner and preemption are switched on; the Job fits nowhere.
func TestNobodyIsEvictedForThePodsOfAGangOneByOneWhenGangsByOwnerAreSwitchedOn(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	classes := e.Client.SchedulingV1().PriorityClasses()
	below := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "e2e-below"}, Value: -10}
	_, err := classes.Create(e.ctx, below, metav1.CreateOptions{})
	e.must(err)
	t.Cleanup(func() {
		if err := classes.Delete(e.ctx, below.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	e.addGPUNodes(1)
	low := e.gang("low", 1, 8, objects.WithPriorityClass(below.Name))
	e.add(low)
	e.whole(30*time.Second, low)
	e.withoutGangsByOwner()
	train := e.ownedGang("train", 4)
	e.eventually(30*time.Second, "its pods wait", func() error { return e.staysWaiting(train, 4) })
	time.Sleep(2 * time.Second) // each is by itself
	e.must(e.writePolicy("gangs:\n  byOwner: true\n  preemption: lowerPriority\n"))
	e.always(6*time.Second, "the other gang runs on", func() error { return e.isWhole(low) })
}
