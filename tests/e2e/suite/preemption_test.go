package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

const urgentClass = "e2e-high"

// preempt fills two nodes with gang `old`, whose pods take long to end, and has gang `urgent` need both of them.
func (e *env) preempt(options ...objects.PodOption) (old, urgent objects.Gang) {
	e.t.Helper()
	e.definePriorities()
	e.setPolicy("preemption: lowerPriority")
	e.addGPUNodes(2)
	old = e.gang("old", 2, 8, append([]objects.PodOption{objects.Lingering}, options...)...)
	e.add(old)
	e.whole(30*time.Second, old)
	urgent = e.gang("urgent", 2, 8, append([]objects.PodOption{objects.WithPriorityClass(urgentClass)}, options...)...)
	e.add(urgent)
	e.eventually(15*time.Second, "all victims are evicted", func() error {
		pods, err := e.pods(old)
		for _, pod := range pods {
			if pod.DeletionTimestamp == nil {
				return errorf("%s is not; %s", pod.Name, e.why(urgent))
			}
		}
		return err
	})
	return old, urgent
}

// nominated fails unless every member of the gang waits behind its gate, nominated.
func (e *env) nominated(g objects.Gang) error {
	pods, err := e.pods(g)
	for _, pod := range pods {
		if pod.Status.NominatedNodeName == "" || len(pod.Spec.SchedulingGates) == 0 {
			return errorf("%s is nominated to %q with gates %v", pod.Name, pod.Status.NominatedNodeName, pod.Spec.SchedulingGates)
		}
	}
	return err
}

func (e *env) noThiefCame() error {
	pods, err := e.list(thief + "=true")
	if n := countBound(pods); err == nil && n > 0 {
		err = errorf("%d did", n)
	}
	return err
}

// leaveOneByOne lets the victims end one after the other while thieves wait for what they leave.
func (e *env) leaveOneByOne(old, urgent objects.Gang) {
	e.t.Helper()
	keeps := func() error {
		if err := e.noThiefCame(); err != nil {
			return err
		}
		return e.nominated(urgent)
	}
	e.always(3*time.Second, "nobody takes what is not free yet", keeps)
	e.must(e.letGo(old.Pod(0).Name))
	e.always(4*time.Second, "nobody takes the half that is", keeps)
	e.must(e.letGo(old.Pod(1).Name))
	e.whole(30*time.Second, urgent)
	e.must(e.noThiefCame())
}

func gpuThief(e *env) func(i int) *corev1.Pod {
	return func(i int) *corev1.Pod {
		return objects.Pod(e.ns, fmt.Sprintf("%s-%d", thief, i), 1, objects.WithPriorityClass(urgentClass))
	}
}

func TestWhileAGangsVictimsLeavePodsOfItsPriorityTakeNoneOfTheirGPUs(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	old, urgent := e.preempt()
	e.must(e.nominated(urgent))
	e.sendThieves(10, gpuThief(e))
	e.leaveOneByOne(old, urgent)
	e.thievesFollow(urgent, 10)
}

// In the cluster's own kube-scheduler, where Muster is asked about pods with GPUs alone.
func TestWhileAGangsVictimsLeavePodsThatMusterIsNeverAskedAboutTakeNoneOfTheirCPUs(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.asTheClustersOwnScheduler()
	old, urgent := e.preempt(objects.Requesting(corev1.ResourceCPU, "120")) // of 128
	e.sendThieves(10, func(i int) *corev1.Pod {
		if i%2 == 0 {
			return gpuThief(e)(i)
		}
		return objects.Pod(e.ns, fmt.Sprintf("%s-%d", thief, i), 0, objects.By("own"),
			objects.WithPriorityClass(urgentClass), objects.Requesting(corev1.ResourceCPU, "16"))
	})
	e.leaveOneByOne(old, urgent)
}

func TestAPreemptionOutlivesMuster(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	old, urgent := e.preempt()
	e.must(e.letGo(old.Pod(0).Name))
	e.muster.Process.Kill()
	e.must(e.muster.Restart(e.ctx))
	e.sendThieves(6, gpuThief(e))
	e.eventually(afterKill, "muster waits for the rest again", func() error {
		if why := e.why(urgent); !strings.Contains(why, "VictimsLeaving") {
			return errorf("%s", why)
		}
		return nil
	})
	e.always(4*time.Second, "what is left is still kept", func() error {
		if err := e.noThiefCame(); err != nil {
			return err
		}
		return e.nominated(urgent)
	})
	e.must(e.letGo(old.Pod(1).Name))
	e.whole(30*time.Second, urgent)
	e.must(e.noThiefCame())
}

// A budget that lets one pod of a gang go lets no gang go. The eviction API alone, asked dry about one pod at a time, would
// let the first go and keep the rest.
func TestNobodyIsEvictedWhomADisruptionBudgetProtects(t *testing.T) {
	for _, budgets := range []struct {
		name  string
		stays []int // of two, by each
	}{{"both must stay", []int{2}}, {"one must stay", []int{1}}, {"two budgets let them go, and Kubernetes evicts no such pod", []int{0, 0}}} {
		t.Run(budgets.name, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{}))
			e.definePriorities()
			e.setPolicy("preemption: lowerPriority")
			e.addGPUNodes(2)
			old := e.gang("old", 2, 8)
			e.add(old)
			e.whole(30*time.Second, old)
			for i, stays := range budgets.stays {
				e.protect(old, fmt.Sprintf("keep-%d", i), stays)
			}
			urgent := e.gang("urgent", 2, 8, objects.WithPriorityClass(urgentClass))
			e.add(urgent)
			e.eventually(30*time.Second, "the gang says what keeps it waiting", func() error {
				if why := e.why(urgent); !strings.Contains(why, "DisruptionBudget") {
					return errorf("%s", why)
				}
				return nil
			})
			time.Sleep(12 * time.Second) // what it waits for is written by now
			mark, err := e.audit.Now()
			e.must(err)
			e.always(8*time.Second, "both victims run", func() error {
				pods, err := e.pods(old)
				if err == nil && len(pods) != 2 {
					return errorf("%d are there", len(pods))
				}
				for _, pod := range pods {
					if pod.DeletionTimestamp != nil {
						return errorf("%s is evicted", pod.Name)
					}
				}
				return err
			})
			e.wroteNothingSince(mark)
			e.must(e.Client.PolicyV1().PodDisruptionBudgets(e.ns).Delete(e.ctx, "keep-0", metav1.DeleteOptions{}))
			e.whole(30*time.Second, urgent)
		})
	}
}

// protect makes a PodDisruptionBudget for the pods of a gang, and waits until it counts them.
func (e *env) protect(g objects.Gang, name string, stays int) {
	e.t.Helper()
	e.protectAll(g, name, stays, objects.GangLabel, g.Name)
}

// protectAll does so for pods with a label, as many as the gang has members.
func (e *env) protectAll(g objects.Gang, name string, stays int, key, value string) {
	e.t.Helper()
	_, err := e.Kubectl(e.ctx, fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %s, namespace: %s}
spec: {minAvailable: %d, selector: {matchLabels: {%s: %s}}}
`, name, g.Namespace, stays, key, value), "apply", "-f", "-")
	e.must(err)
	e.eventually(30*time.Second, "the budget counts", func() error {
		keep, err := e.Client.PolicyV1().PodDisruptionBudgets(e.ns).Get(e.ctx, name, metav1.GetOptions{})
		if err == nil && (keep.Status.ExpectedPods != int32(g.Members) || keep.Status.DisruptionsAllowed != int32(g.Members-stays)) {
			err = errorf("it expects %d pods and lets %d go", keep.Status.ExpectedPods, keep.Status.DisruptionsAllowed)
		}
		return err
	})
}
