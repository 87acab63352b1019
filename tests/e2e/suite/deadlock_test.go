package suite

import (
	"fmt"
	"testing"
	"time"

	"muster.dev/e2e/objects"
)

// Two gangs that each need more than half of the cluster: 80 of 128 GPUs.
func twoHalves(e *env, options ...objects.PodOption) (a, b objects.Gang) {
	e.addGPUNodes(16)
	return e.gang("a", 80, 1, options...), e.gang("b", 80, 1, options...)
}

// interleaved makes the members in turns, which is what makes kube-scheduler give each gang a part.
func (e *env) interleaved(a, b objects.Gang) {
	e.t.Helper()
	for i := range a.Members {
		e.addPods(a.Pod(i), b.Pod(i))
	}
}

func TestKubeSchedulerAloneLeavesTwoHalvesStuckForEver(t *testing.T) {
	e := in(t, bare(t, worldOptions{}))
	a, b := twoHalves(e, objects.By(objects.Default))
	e.interleaved(a, b)
	e.eventually(60*time.Second, "every GPU is given out", func() error {
		if n := e.bound(a) + e.bound(b); n != 128 {
			return fmt.Errorf("%d of 128 are", n)
		}
		return nil
	})
	e.always(3*time.Second, "neither is whole", func() error {
		if e.bound(a) == 80 || e.bound(b) == 80 {
			return fmt.Errorf("a has %d, b has %d", e.bound(a), e.bound(b))
		}
		return nil
	})
}

func TestOfTwoHalvesOneRunsWholeAndTheOtherFollows(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	a, b := twoHalves(e)
	e.addGroup(a)
	e.addGroup(b)
	e.interleaved(a, b)
	first, second := a, b
	e.eventually(60*time.Second, "one of them is whole", func() error {
		if e.bound(b) == 80 {
			first, second = b, a
		}
		if e.bound(first) != 80 {
			return fmt.Errorf("a has %d, b has %d; %s; %s", e.bound(a), e.bound(b), e.why(a), e.why(b))
		}
		return nil
	})
	e.always(3*time.Second, "the other holds nothing", func() error {
		pods, err := e.pods(second)
		for _, pod := range pods {
			if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" {
				return fmt.Errorf("%s is on node %q, nominated for %q", pod.Name, pod.Spec.NodeName, pod.Status.NominatedNodeName)
			}
		}
		return err
	})
	gang, err := e.muster.Gang(e.ns, second.Name)
	e.must(err)
	if gang.State != "Queued" || gang.Reason.Message == "" {
		t.Errorf("the other is %s and says %q", gang.State, gang.Reason.Message)
	}
	e.end(first)
	e.whole(60*time.Second, second)
}
