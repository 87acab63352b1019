package suite

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/e2e/objects"
)

// stuck leaves a gang of two nodes without room.
func (e *env) stuck() objects.Gang {
	e.t.Helper()
	e.addGPUNodes(2)
	holder := e.gang("holder", 2, 8)
	e.add(holder)
	e.whole(30*time.Second, holder)
	e.t.Cleanup(func() { e.end(holder) })
	g := e.gang("stuck", 2, 8)
	e.add(g)
	return g
}

// describes waits until what kubectl prints of the object has all these parts.
func (e *env) describes(within time.Duration, kind, name string, parts ...string) {
	e.t.Helper()
	e.eventually(within, "kubectl describe "+kind+" says why", func() error {
		text, err := e.Kubectl(e.ctx, "", "--namespace", e.ns, "describe", kind, name)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				return errorf("no %q in\n%s", part, text)
			}
		}
		return nil
	})
}

func TestKubectlDescribeOfAPodGroupSaysWhyItIsStuck(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	g := e.stuck()
	e.describes(30*time.Second, "podgroups.scheduling.x-k8s.io", g.Name,
		"NotEnoughGpus",                     // the condition
		"GangQueued",                        // the Event
		"it wants 16 GPUs (2 × 8), 0 were ", // in both
		"; it would start if 16 more GPUs become free: ")
}

func TestKubectlDescribeOfAMemberSaysWhyItsGangIsStuck(t *testing.T) {
	slow(t) // members are told of what lasts for five minutes
	e := in(t, mustered(t, worldOptions{}))
	g := e.stuck()
	for _, pod := range g.Pods() {
		e.describes(7*time.Minute, "pod", pod.Name, "Message:", "muster: gang "+g.Key()+" waits: NotEnoughGpus: not enough free GPUs: it wants 16 GPUs")
	}
	// What makes autoscalers count a pod stays as it was.
	pods, err := e.pods(g)
	e.must(err)
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason != corev1.PodReasonSchedulingGated {
				t.Errorf("PodScheduled of %s has reason %s", pod.Name, c.Reason)
			}
		}
	}
}

func TestAGroupWhosePodsNameAnotherSchedulerIsExplained(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	g := e.gang("g", 2, 8, func(pod *corev1.Pod) { pod.Spec.SchedulerName = "nobody" })
	e.add(g)
	e.eventually(30*time.Second, "its explanation names the scheduler", func() error {
		if why := e.why(g); !strings.Contains(why, "2 pods of this group name the scheduler nobody, not muster: set schedulerName") {
			return errorf("it says: %s", why)
		}
		return nil
	})
}
