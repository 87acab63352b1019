package suite

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A gang lost a member, has no room for another, and a budget lets one of the two that are left go, but not both.
func TestAPartialGangThatABudgetKeepsFromBeingTakenBackTakesAReplacement(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("partialTimeout: 5s")
	e.addGPUNodes(3)
	g := e.gang("g", 3, 8)
	e.add(g)
	e.whole(30*time.Second, g)
	e.protect(g, "keep", 1)
	lost, err := e.Client.CoreV1().Pods(e.ns).Get(e.ctx, g.Pod(1).Name, metav1.GetOptions{})
	e.must(err)
	e.must(e.patchNode(lost.Spec.NodeName, `{"spec":{"unschedulable":true}}`))
	e.deletePod(lost.Name)
	uids := e.uids(g)
	e.addPods(g.Pod(1))
	e.auditor.Allow(g.Key(), 2*time.Minute)
	e.eventually(40*time.Second, "the gang says what keeps it", func() error {
		if why := e.why(g); !strings.Contains(why, "PodDisruptionBudget "+e.ns+"/keep") {
			return errorf("%s", why)
		}
		return nil
	})
	e.always(20*time.Second, "none of the two is evicted", func() error {
		now := e.uids(g)
		for name, uid := range uids {
			if now[name] != uid {
				return errorf("%s is gone", name)
			}
		}
		return nil
	})
	e.must(e.patchNode(lost.Spec.NodeName, `{"spec":{"unschedulable":false}}`))
	e.whole(30*time.Second, g)
	delete(uids, lost.Name)
	for name, uid := range e.uids(g) {
		if name != lost.Name && uids[name] != uid {
			t.Errorf("%s was recreated", name)
		}
	}
}
